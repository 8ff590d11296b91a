// Reads, writes and deletes objects with the API's guarantees; each part has a source file of its
// name.
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
// form that the request's Accept asks for. Only reads; returned values are copies. Belongs to the
// API's loop.
class ObjectReader {
 public:
  // The arguments outlive the reader.
  ObjectReader(Loop& loop, Random& random, const ObjectStore& store)
      : loop_(loop), random_(random), store_(store) {}

  // 404: no such object; 406: the client accepts no form that is served.
  Outcome<Json> Get(const ApiRequest& request, const Kind& kind) const;
  // A list, whole or the page that ?limit= and ?continue= ask for, at a version. Pages of one list
  // all show the version of the first. 400 for invalid selectors, numbers or tokens, 410 when the
  // version is older than the history, 504 when it does not exist yet.
  Outcome<Json> List(const ApiRequest& request, const Kind& kind) const;
  // Reads from the query what a watch shows; the hub does the rest, 410 included. A path with a
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

// The object and the parameters of a write, from the request's path and query.
struct WriteTarget {
  KindRef kind;
  ObjectKey key;            // its name is "" for POST
  std::string subresource;  // "", "status"
  std::string manager;      // the field manager
  std::string validation;   // of unknown fields: "Strict", "Warn" (also "") or "Ignore"
  bool dry_run = false;
};

// The object after the write (for a dry run: as it would be), the HTTP status and the texts of
// Warning headers.
struct Written {
  int code = 200;
  Json object;
  std::vector<std::string> warnings;
};

// Every change of an object goes through here: checks, defaults, system fields, conflicts, then the
// store. A write without changes is skipped, so a repeated request uses no version and notifies no
// watcher. A dry run does everything except storing. Belongs to the API's loop.
class ObjectWriter {
 public:
  // The arguments outlive the writer. Randomness is for uids and generated names.
  ObjectWriter(Loop& loop, Random& random, ObjectStore& store);

  // 201. 409 AlreadyExists when the name is taken, 404 or 403 for a namespace that does not exist
  // or is ending, 400 or 422 for an invalid object.
  Outcome<Written> Create(const WriteTarget& target, Json object);
  // Replaces the object, or its status, by `desired`. 404 if it is missing, unless PUT may create
  // the kind; 409 Conflict when `desired` names another version or uid than the present one. In a
  // patch or an apply another uid is 422, as upstream: that field never changes.
  Outcome<Written> Update(const WriteTarget& target, Json desired);
  // Replaces the object by the result of `edit` on the present one, in the target's version. A
  // result without a resourceVersion is accepted unconditionally. Refusals of `edit` are passed on.
  using Edit = std::function<Outcome<Json>(const Json& present)>;
  Outcome<Written> Change(const WriteTarget& target, const Edit& edit);
  // Server-side apply: creates the object or merges `applied` into it, see ApplyConfiguration().
  Outcome<Written> Apply(const WriteTarget& target, Json applied, bool force);

  // Tries with generated names before a conflict is reported (maxNameGenerationCreateAttempts
  // upstream).
  static constexpr int kGeneratedNamesMax = 8;

 private:
  // The kind of request. It decides how another object's uid is refused, and whether managedFields
  // must still be computed (ApplyConfiguration() has done it for an apply).
  enum class Way { kPut, kPatch, kApply };

  // Checks that version, kind, namespace and name of the body agree with the URL; missing ones are
  // filled in from it.
  std::optional<Refusal> CheckIdentity(const WriteTarget& target, Json& object) const;
  // Checks that the namespace exists and takes new objects.
  std::optional<Refusal> CheckNamespace(const WriteTarget& target) const;
  Outcome<std::vector<std::string>> Normalize(const WriteTarget& target, Json& object) const;
  // The rest of a write of a new object, and of one that exists.
  Outcome<Written> Insert(const WriteTarget& target, Json object, Way way);
  Outcome<Written> Replace(const WriteTarget& target, const Json& before, Json desired, Way way);
  // The last step: stores the object, or removes it if this write removed its last finalizer.
  Written Store(const WriteTarget& target, const Json& before, Json after);

  Loop& loop_;
  Random& random_;
  ObjectStore& store_;
};

// ---- Ends objects the way Kubernetes does: Pods after their grace, anything with finalizers when
// the last one is gone, a namespace after all that is in it. Marking an object is a write as any
// other; the component that must react (a kubelet, a finalizer's owner) sees it in its watch. Owner
// references are not followed: nothing is collected as garbage. Belongs to the API's loop.

// metav1.DeleteOptions, as far as supported. Propagation policies are not: everything is deleted in
// the background.
struct DeletionWish {
  // nullopt: the Pod's own grace period, or 30. Only Pods have one.
  std::optional<std::int64_t> grace_seconds;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  bool dry_run = false;
};

// From the body of a DELETE or an eviction (null: none), and from the query; the body has
// precedence. 400 for a grace period that is no number of 64 bits. A negative grace is 1 second, as
// upstream reads it.
Outcome<DeletionWish> ReadDeletionWish(const Json& options, const std::string& query_grace,
                                       bool query_dry_run);

// Deletes objects as the API server does: at once, or marked until finalizers, grace periods and
// namespaces' contents are gone. Belongs to its loop.
class ObjectDeleter {
 public:
  // Continues with namespaces that were ending when the state was stored. The arguments outlive the
  // deleter.
  ObjectDeleter(Loop& loop, ObjectStore& store, const KindTable& kinds);

  // The object afterwards: marked or, when `gone`, its last state.
  struct Deleted {
    Json object;
    bool gone = false;
  };
  // 404 when it does not exist, 409 when a precondition does not hold, 403 for a namespace that the
  // cluster needs. Repeating is harmless: a marked object stays as it is unless the grace gets
  // shorter. A dry run changes nothing and answers as if it had.
  Outcome<Deleted> Delete(const Kind& kind, const ObjectKey& key, const DeletionWish& wish);

 private:
  // Writes deletionTimestamp, the end of the grace period, and the grace period itself.
  Deleted Mark(const Kind& kind, const ObjectKey& key, const Json& before, std::int64_t grace,
               bool dry_run);
  // Notices namespaces that start to end, and objects that are removed from them.
  void OnChange(const std::string& collection, const Change& change);
  // Has one sweep made for all changes of a turn.
  void SweepSoon();
  void Sweep();
  // Deletes the remaining objects of the namespace; returns whether none are left.
  bool Empty(const std::string& ns);

  Loop& loop_;
  ObjectStore& store_;
  const KindTable& kinds_;
  std::set<std::string> ending_;  // namespaces on their way out
  Timer sweep_;
  bool sweeping_ = false;
};

}  // namespace galen::api_sim
