// Ends objects the way Kubernetes does: Pods after their grace, anything with finalizers when the
// last one is gone, a namespace after all that is in it. Belongs to the API's loop.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/loop.h"
#include "cluster_sim/kinds.h"
#include "cluster_sim/object_store.h"

namespace galen::cluster_sim {

// metav1.DeleteOptions, as far as it is understood.
struct DeletionWish {
  std::optional<std::int64_t> grace_seconds;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  bool dry_run = false;
};

// From the body of a DELETE or an eviction, and from the query.
Outcome<DeletionWish> ReadDeletionWish(const Json& options, const std::string& query_grace,
                                       bool query_dry_run);

class ObjectDeleter {
 public:
  // What is lent outlives the deleter.
  ObjectDeleter(Loop& loop, ObjectStore& store, const KindTable& kinds);

  // The object as it is afterwards: marked, or as it was when it went.
  struct Deleted {
    Json object;
    bool gone = false;
  };
  Outcome<Deleted> Delete(const Kind& kind, const ObjectKey& key, const DeletionWish& wish);

 private:
  Deleted Mark(const Kind& kind, const ObjectKey& key, const Json& before, std::int64_t grace,
               bool dry_run);
  void OnChange(const std::string& collection, const Change& change);
  void SweepSoon();
  void Sweep();
  // Whether nothing is left in the namespace.
  bool Empty(const std::string& ns);

  Loop& loop_;
  ObjectStore& store_;
  const KindTable& kinds_;
  std::set<std::string> ending_;  // namespaces on their way out
  Timer sweep_;
  bool sweeping_ = false;
};

}  // namespace galen::cluster_sim
