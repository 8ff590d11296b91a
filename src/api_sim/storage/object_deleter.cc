// Tested by tests/contract/delete_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api_sim/objects/object_meta.h"
#include "api_sim/objects/pod_facts.h"
#include "api_sim/storage/object_access.h"
#include "base/text.h"

namespace galen::api_sim {
namespace {

// DefaultTerminationGracePeriodSeconds of core/v1.
constexpr std::int64_t kPodGraceSecondsDefault = 30;
// A longer grace is kept as it was given, but ends at a moment that a timestamp can still
// represent.
constexpr std::chrono::seconds kGraceMax = std::chrono::hours(24 * 365 * 100);
constexpr const char* kNamespaces = "/namespaces";
// The namespaces that a cluster cannot do without; upstream's NamespaceLifecycle keeps these too.
const std::set<std::string, std::less<>> kKept{"default", "kube-system", "kube-public"};

// No kubelet has to stop a Pod that none runs.
bool StopsAtOnce(const Json& pod) {
  return pod["spec"]["nodeName"].AsString().empty() || HasPodEnded(pod);
}

std::int64_t GraceOf(const Kind& kind, const Json& object, const DeletionWish& wish) {
  if (kind.resource != kube::kPods || StopsAtOnce(object)) return 0;
  if (wish.grace_seconds) return *wish.grace_seconds;
  const Json& own = object["spec"]["terminationGracePeriodSeconds"];
  return own.is_int() ? own.AsInt() : kPodGraceSecondsDefault;
}

std::optional<Refusal> CheckPreconditions(const Subject& subject, const Json& object,
                                          const DeletionWish& wish) {
  const auto check = [&](const char* what, const std::string& wanted, const std::string& own) {
    return wanted.empty() || wanted == own
               ? std::optional<Refusal>()
               : ConflictRefusal(subject, fmt::format("Precondition failed: {} in precondition: "
                                                      "{}, {} in object meta: {}",
                                                      what, wanted, what, own));
  };
  const Json& meta = object["metadata"];
  if (auto refusal = check("UID", wish.uid, meta["uid"].AsString())) return refusal;
  return check("ResourceVersion", wish.resource_version, meta["resourceVersion"].AsString());
}

Refusal BadGrace(const std::string& text) {
  return BadRequest("gracePeriodSeconds is no whole number of 64 bits: " + CutText(text, 64));
}

}  // namespace

Outcome<DeletionWish> ReadDeletionWish(const Json& options, const std::string& query_grace,
                                       bool query_dry_run) {
  DeletionWish wish;
  wish.dry_run = query_dry_run;
  if (!query_grace.empty()) {
    std::int64_t seconds = 0;
    const char* end = query_grace.data() + query_grace.size();
    const auto [read, error] = std::from_chars(query_grace.data(), end, seconds);
    // Otherwise it would count as 0: the Pod would be killed at once instead of late.
    if (error != std::errc() || read != end) return BadGrace(query_grace);
    wish.grace_seconds = seconds;
  }
  const Json& grace = options["gracePeriodSeconds"];
  if (!grace.is_null() && !grace.is_int()) return BadGrace(grace.Dump());
  if (grace.is_int()) wish.grace_seconds = grace.AsInt();
  // Upstream's rule for Pods, so that nobody skips the kubelet by accident.
  if (wish.grace_seconds && *wish.grace_seconds < 0) wish.grace_seconds = 1;
  wish.uid = options["preconditions"]["uid"].AsString();
  wish.resource_version = options["preconditions"]["resourceVersion"].AsString();
  for (const Json& mode : options["dryRun"].items()) wish.dry_run |= mode.AsString() == "All";
  return wish;
}

ObjectDeleter::ObjectDeleter(Loop& loop, ObjectStore& store, const KindTable& kinds)
    : loop_(loop), store_(store), kinds_(kinds) {
  store_.AddListener([this](const std::string& collection, const Change& change) {
    OnChange(collection, change);
  });
  for (const Snapshot& ns : store_.List(kNamespaces, "")) {
    if ((*ns)["metadata"].Has("deletionTimestamp")) ending_.insert(KeyOf(*ns).name);
  }
  if (!ending_.empty()) SweepSoon();
}

Outcome<ObjectDeleter::Deleted> ObjectDeleter::Delete(const Kind& kind, const ObjectKey& key,
                                                      const DeletionWish& wish) {
  const Subject subject = kind.subject(key.name);
  const Snapshot before = store_.Get(kind.collection(), key);
  if (before == nullptr) return NotFoundRefusal(subject);
  if (auto refusal = CheckPreconditions(subject, *before, wish)) return *refusal;
  const bool is_namespace = kind.resource == kube::kNamespaces;
  // After the preconditions, before anything is written.
  if (is_namespace && kKept.contains(key.name)) {
    return ForbiddenRefusal(subject, "this namespace may not be deleted");
  }
  const Json& meta = (*before)["metadata"];
  const std::int64_t grace = GraceOf(kind, *before, wish);
  // Without anything to wait for, the object is removed at once, and the answer is its last state.
  const bool waits = grace > 0 || is_namespace || !meta["finalizers"].items().empty();
  const Json& marked = meta["deletionGracePeriodSeconds"];
  if (!waits) {
    if (wish.dry_run) return Deleted{*before, true};
    // A Pod is marked all the same, as upstream, in a write of its own: watchers get MODIFIED with
    // a grace of 0, then DELETED.
    const bool is_marked = meta.Has("deletionTimestamp") && marked.AsInt() == 0;
    if (kind.resource == kube::kPods && !is_marked) Mark(kind, key, *before, 0, false);
    return Deleted{*store_.Remove(kind.collection(), key), true};
  }
  // A later request may shorten the grace period, never lengthen it.
  if (meta.Has("deletionTimestamp") && marked.AsInt() <= grace) return Deleted{*before, false};
  return Mark(kind, key, *before, grace, wish.dry_run);
}

ObjectDeleter::Deleted ObjectDeleter::Mark(const Kind& kind, const ObjectKey& key,
                                           const Json& before, std::int64_t grace, bool dry_run) {
  Json after = before;
  Json& meta = after["metadata"];
  const WallTime when = loop_.WallNow() + std::min(std::chrono::seconds(grace), kGraceMax);
  meta["deletionTimestamp"] = FormatRfc3339(when);
  meta["deletionGracePeriodSeconds"] = grace;
  // Being marked counts as a change of the object; a shorter grace later does not.
  if (kind.counts_generations && !before["metadata"].Has("deletionTimestamp")) {
    meta["generation"] = before["metadata"]["generation"].AsInt() + 1;
  }
  if (kind.resource == kube::kNamespaces) after["status"]["phase"] = "Terminating";
  if (dry_run) return {std::move(after), false};
  return {*store_.Put(kind.collection(), key, std::move(after)), false};
}

void ObjectDeleter::OnChange(const std::string& collection, const Change& change) {
  const bool ns_marked = collection == kNamespaces && change.after != nullptr &&
                         (*change.after)["metadata"].Has("deletionTimestamp");
  if (ns_marked) ending_.insert(change.key.name);
  // An object of an ending namespace was removed: it may have been the last.
  const bool left = change.after == nullptr && ending_.contains(change.key.ns);
  if (ns_marked || left) SweepSoon();
}

// In a later turn: the sweep changes the store itself.
void ObjectDeleter::SweepSoon() {
  if (std::exchange(sweeping_, true)) return;
  sweep_ = loop_.After(Duration::zero(), [this] {
    sweeping_ = false;
    Sweep();
  });
}

void ObjectDeleter::Sweep() {
  // A copy, since removing a namespace comes back to OnChange.
  const std::set<std::string> ending = ending_;
  for (const std::string& ns : ending) {
    // The remaining objects are removed later, which causes the next sweep.
    if (!Empty(ns)) continue;
    ending_.erase(ns);
    if (store_.Get(kNamespaces, {"", ns}) != nullptr) store_.Remove(kNamespaces, {"", ns});
  }
}

bool ObjectDeleter::Empty(const std::string& ns) {
  bool empty = true;
  for (const std::string& collection : store_.Collections()) {
    const KindRef kind = kinds_.FindCollection(collection);
    if (kind == nullptr || !kind->resource.namespaced) continue;
    for (const Snapshot& object : store_.List(collection, ns)) {
      // Without options: Pods keep their own grace period.
      const Outcome<Deleted> deleted = Delete(*kind, KeyOf(*object), {});
      empty = empty && deleted.ok() && deleted->gone;
    }
  }
  return empty;
}

}  // namespace galen::api_sim
