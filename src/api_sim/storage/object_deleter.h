// Ends objects the way Kubernetes does: Pods after their grace, anything with finalizers when the
// last one is gone, a namespace after all that is in it. Marking an object is a write as any other;
// whoever is asked to let go (a kubelet, a finalizer's owner) sees it by its watch. Owner
// references are not followed: nothing is collected as garbage.
// Belongs to the API's loop.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api_sim/objects/kinds.h"
#include "api_sim/storage/object_store.h"
#include "base/loop/loop.h"

namespace galen::api_sim {

// metav1.DeleteOptions, as far as it is understood. Propagation policies are not: everything is
// deleted in the background.
struct DeletionWish {
  // nullopt: what the Pod says of itself, or 30. Only Pods have a grace.
  std::optional<std::int64_t> grace_seconds;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  bool dry_run = false;
};

// From the body of a DELETE or an eviction (null: none), and from the query; the body wins. 400 for
// a grace that is no number or does not fit 64 bits. A negative grace is 1 second, as upstream
// reads it.
Outcome<DeletionWish> ReadDeletionWish(const Json& options, const std::string& query_grace,
                                       bool query_dry_run);

class ObjectDeleter {
 public:
  // Goes on with the namespaces that were ending when the state was kept. What is lent outlives the
  // deleter.
  ObjectDeleter(Loop& loop, ObjectStore& store, const KindTable& kinds);

  // The object as it is afterwards: marked, or, when `gone`, as it was when it went.
  struct Deleted {
    Json object;
    bool gone = false;
  };
  // 404 when it is not there, 409 when a precondition does not hold, 403 for a namespace that the
  // cluster needs. Repeating is harmless: a marked object stays as it is unless the grace gets
  // shorter. A dry run changes nothing and answers as if it had.
  Outcome<Deleted> Delete(const Kind& kind, const ObjectKey& key, const DeletionWish& wish);

 private:
  // Writes deletionTimestamp, the moment at which the grace ends, and the grace itself.
  Deleted Mark(const Kind& kind, const ObjectKey& key, const Json& before, std::int64_t grace,
               bool dry_run);
  // Notices namespaces that begin to end and objects that leave them.
  void OnChange(const std::string& collection, const Change& change);
  // One sweep for all changes of a turn.
  void SweepSoon();
  void Sweep();
  // Deletes whatever is left in the namespace; whether nothing is.
  bool Empty(const std::string& ns);

  Loop& loop_;
  ObjectStore& store_;
  const KindTable& kinds_;
  std::set<std::string> ending_;  // namespaces on their way out
  Timer sweep_;
  bool sweeping_ = false;
};

}  // namespace galen::api_sim
