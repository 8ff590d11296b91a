// What one does to a Pod beside writing it: bind it to a node, evict it. Answers carry a Status
// "Success", as upstream's, not the Pod. Belongs to the API's loop.
#pragma once

#include "api_sim/storage/object_deleter.h"
#include "api_sim/storage/object_writer.h"
#include "base/loop/loop.h"

namespace galen::api_sim {

class PodActions {
 public:
  // What is lent outlives this.
  PodActions(Loop& loop, ObjectStore& store, ObjectWriter& writer, ObjectDeleter& deleter)
      : loop_(loop), store_(store), writer_(writer), deleter_(deleter) {}

  // `binding` is a v1 Binding: its target names the node, which is not checked to exist. Sets the
  // node and the condition PodScheduled in one write. 404 without the Pod, 409 when it has a node
  // or is being deleted, 422 without a target. Once bound, a Pod stays so.
  Outcome<Written> Bind(const WriteTarget& target, const Json& binding);
  // `eviction` is a policy/v1 Eviction. Marks the Pod with the condition DisruptionTarget, then
  // deletes it as its deleteOptions say. 429 while a PodDisruptionBudget that selects it allows no
  // disruption (status.disruptionsAllowed, which nothing here counts down), unless the Pod is
  // pending, finished or being deleted; 404 without the Pod; 409 when a precondition does not hold.
  Outcome<Written> Evict(const WriteTarget& target, const Json& eviction);

 private:
  // The refusal of the first budget that forbids it.
  std::optional<Refusal> CheckBudgets(const ObjectKey& key, const Json& pod) const;

  Loop& loop_;
  ObjectStore& store_;
  ObjectWriter& writer_;
  ObjectDeleter& deleter_;
};

}  // namespace galen::api_sim
