// Reading, writing and deleting objects as the API promises it; each has a source file of its name.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api_sim/objects/api_request.h"
#include "api_sim/objects/kinds.h"
#include "api_sim/storage/object_store.h"
#include "api_sim/storage/watch_hub.h"
#include "base/loop/loop.h"
#include "base/random.h"

namespace galen::api_sim {

// Answers get, list and watch from the store, in pages and at versions as Kubernetes does, in the
// form that the request's Accept asks for. Reads only; values it gives are copies. Belongs to the
// API's loop.
class ObjectReader {
 public:
  // What is lent outlives the reader.
  ObjectReader(Loop& loop, Random& random, const ObjectStore& store)
      : loop_(loop), random_(random), store_(store) {}

  // 404: no such object; 406: no form that the client takes.
  Outcome<Json> Get(const ApiRequest& request, const Kind& kind) const;
  // A list, whole or the page that ?limit= and ?continue= ask for, at a version. Pages of one list
  // all show the version of the first. 400 for selectors, numbers or tokens that make no sense, 410
  // when the version is older than the history, 504 when it is of the future.
  Outcome<Json> List(const ApiRequest& request, const Kind& kind) const;
  // What a watch is to show, from the query; the hub does the rest, 410 included. A path with a
  // name watches that one object. 400 as for List.
  Outcome<WatchHub::Spec> ReadWatch(const ApiRequest& request, const KindRef& kind) const;

  // A watch without timeoutSeconds lasts between this and twice as long, so that clients do not all
  // come back at once: kube-apiserver's --min-request-timeout.
  static constexpr Duration kWatchTimeoutLeast = std::chrono::minutes(30);

 private:
  struct Page;
  Outcome<Page> ReadPage(const ApiRequest& request) const;

  Loop& loop_;
  Random& random_;
  const ObjectStore& store_;
};

// What a write is about and how it is meant; read from the request's path and query.
struct WriteTarget {
  KindRef kind;
  ObjectKey key;            // its name is "" for POST
  std::string subresource;  // "", "status"
  std::string manager;      // who is said to own the fields
  std::string validation;   // of unknown fields: "Strict", "Warn" (also "") or "Ignore"
  bool dry_run = false;
};

// The object as it is now (of a dry run: as it would be), the HTTP status and the sentences that go
// out as Warning headers.
struct Written {
  int code = 200;
  Json object;
  std::vector<std::string> warnings;
};

// Every change of an object goes through here: checks, defaults, system fields, conflicts, then the
// store. Nothing is written that would change nothing, so a repeated request costs no version and
// wakes no watcher. A dry run goes all the way but for the store. Belongs to the API's loop.
class ObjectWriter {
 public:
  // What is lent outlives the writer. Randomness is for uids and generated names.
  ObjectWriter(Loop& loop, Random& random, ObjectStore& store);

  // 201. 409 AlreadyExists when the name is taken, 404 or 403 for a namespace that is not there or
  // is ending, 400 or 422 for an object that is not in order.
  Outcome<Written> Create(const WriteTarget& target, Json object);
  // Replaces the object, or its status, by `desired`. 404 unless the kind may be created so; 409
  // Conflict when `desired` names another version or uid than the present one. Of a patch or an
  // apply, another uid is a change of a field that never changes: 422, as upstream has it.
  Outcome<Written> Update(const WriteTarget& target, Json desired);
  // Replaces it by what `edit` makes of the present one, shown in the target's version. A result
  // that names no version is taken without a condition. Refusals of `edit` are passed on.
  using Edit = std::function<Outcome<Json>(const Json& present)>;
  Outcome<Written> Change(const WriteTarget& target, const Edit& edit);
  // Server-side apply: creates the object or merges `applied` into it, see ApplyConfiguration().
  Outcome<Written> Apply(const WriteTarget& target, Json applied, bool force);

  // Tries before a taken generated name is a conflict (maxNameGenerationCreateAttempts upstream).
  static constexpr int kGeneratedNamesMax = 8;

 private:
  // How a change came. It decides how another object's uid is refused, and whether managedFields
  // are yet to be worked out (those of an apply were, by ApplyConfiguration()).
  enum class Way { kPut, kPatch, kApply };

  // Version, kind, namespace and name of the body agree with the URL; what the body leaves out is
  // filled in from it.
  std::optional<Refusal> CheckIdentity(const WriteTarget& target, Json& object) const;
  // The namespace is there and takes new objects.
  std::optional<Refusal> CheckNamespace(const WriteTarget& target) const;
  Outcome<std::vector<std::string>> Normalize(const WriteTarget& target, Json& object) const;
  // The rest of a write of a new object, and of one that exists.
  Outcome<Written> Insert(const WriteTarget& target, Json object, Way way);
  Outcome<Written> Replace(const WriteTarget& target, const Json& before, Json desired, Way way);
  // The last step: the object, or its removal when it was kept only by what this write took away.
  Written Store(const WriteTarget& target, const Json& before, Json after);

  Loop& loop_;
  Random& random_;
  ObjectStore& store_;
};

// ---- Ends objects the way Kubernetes does: Pods after their grace, anything with finalizers when
// the last one is gone, a namespace after all that is in it. Marking an object is a write as any
// other; whoever is asked to let go (a kubelet, a finalizer's owner) sees it by its watch. Owner
// references are not followed: nothing is collected as garbage. Belongs to the API's loop.

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

// Deletes objects as the API server does: at once, or marked until finalizers, grace periods and
// namespaces' contents are gone. Belongs to its loop.
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
