// What one does to a Pod beside writing it: bind it to a node, evict it. Belongs to the API's loop.
#pragma once

#include "base/loop.h"
#include "cluster_sim/object_deleter.h"
#include "cluster_sim/object_writer.h"

namespace galen::cluster_sim {

class PodActions {
 public:
  // What is lent outlives this.
  PodActions(Loop& loop, ObjectStore& store, ObjectWriter& writer, ObjectDeleter& deleter)
      : loop_(loop), store_(store), writer_(writer), deleter_(deleter) {}

  // `binding` is a v1 Binding: its target names the node.
  Outcome<Written> Bind(const WriteTarget& target, const Json& binding);
  // `eviction` is a policy/v1 Eviction. 429 while a PodDisruptionBudget forbids it.
  Outcome<Written> Evict(const WriteTarget& target, const Json& eviction);

 private:
  std::optional<Refusal> CheckBudgets(const ObjectKey& key, const Json& pod) const;

  Loop& loop_;
  ObjectStore& store_;
  ObjectWriter& writer_;
  ObjectDeleter& deleter_;
};

}  // namespace galen::cluster_sim
