#include "agent/publish/pod_publisher.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "agent/publish/pod_patch.h"
#include "agent/publish/run_patch.h"
#include "base/text.h"
#include "kube/request.h"
#include "model/fault.h"

namespace galen::agent {
namespace {

// What is told later than this after its sign was not held up by publishing: the agent or the
// API server was away.
constexpr Duration kMeasuredMost = std::chrono::minutes(10);

// A refusal without the Pod that it names, so that many Pods refused alike have one reason.
std::string ReasonOf(const Status& status, const ObjectKey& pod) {
  std::string reason = status.message();
  for (const std::string& name : {pod.name, pod.ns}) {
    const std::string quoted = '"' + name + '"';
    for (std::size_t at; (at = reason.find(quoted)) != std::string::npos;) {
      reason.replace(at, quoted.size(), "it");
    }
  }
  return reason;
}

// Whether an entry's name may be what the server refuses: API servers before 1.37 know none of the
// form that extended resources have.
bool RefusesExtended(const Status& status, const kube::Pod& pod) {
  return status.code() == Code::kInvalidArgument && !pod.extended_claim.empty() &&
         status.message().find("allocatedResourcesStatus") != std::string::npos;
}

}  // namespace

PodPublisher::PodPublisher(Edges edges, Options options)
    : edges_(edges),
      options_(std::move(options)),
      queue_(
          edges.loop, edges.random,
          {.backoff = {.first = std::chrono::milliseconds(50), .most = std::chrono::seconds(30)}},
          [this](const ObjectKey& key, Done done) { Reconcile(key, std::move(done)); }) {}

void PodPublisher::Open() { open_ = true; }

void PodPublisher::Retry() {
  leave_out_extended_ = false;
  if (left_out_.empty()) return;
  ask_again_ = edges_.loop.After(kExtendedAgain, [this] { Retry(); });
  // The answer to one of them says it of all. A copy: a look may take it from the set.
  MarkDirty(ObjectKey(*left_out_.begin()));
}

void PodPublisher::MarkDirty(const ObjectKey& pod) {
  if (!open_) return;
  // At once, before its devices change once more.
  NoteEnding(pod);
  queue_.MarkDirty(pod);
}

void PodPublisher::NoteEnding(const ObjectKey& key) {
  const kube::Pod* pod = edges_.view.FindPod(key);
  // Those it has are there for good.
  if (pod != nullptr && HasEnded(*pod)) WantedOf(*pod);
}

void PodPublisher::Expect(const ObjectKey& pod, const DeviceHealth& health) {
  const Time now = edges_.loop.Now();
  auto& changes = records_[pod].changes;
  // Of a device that was told and is calm nothing need be remembered.
  std::erase_if(changes, [now](const auto& item) {
    return !item.second.untold && item.second.pacer.calm(now);
  });
  Change& change = changes[health.id];
  change.untold = std::make_unique<DeviceHealth>(health);
  change.pacer.Changed(health.state, now);
}

void PodPublisher::Flush() {
  stopping_ = true;
  // Without their timers: who waits for the server is put there again by its look.
  for (const auto& [pod, timer] : std::exchange(later_, {})) queue_.MarkDirty(pod);
}

void PodPublisher::Forget(const ObjectKey& pod) {
  records_.erase(pod);
  left_out_.erase(pod);
  later_.erase(pod);
  NotRefused(pod);
}

std::string PodPublisher::trouble() const {
  if (refusals_.empty()) return "";
  const auto& [pod, refusal] = *refusals_.begin();
  const std::size_t more = refusals_.size() - 1;
  return fmt::format("{}: {}{}", ToString(pod), refusal.why,
                     more == 0 ? "" : fmt::format(", and {} more", Counted(more, "Pod")));
}

void PodPublisher::Reconcile(const ObjectKey& key, Done done) {
  const kube::Pod* pod = edges_.view.FindPod(key);
  // Gone since it was marked; a refusal that came after Forget goes here.
  if (pod == nullptr) {
    NotRefused(key);
    return done(OkStatus());
  }
  // Not a failure of this Pod: its own backoff stays short for when the server is back.
  if (const Duration away = away_until_ - edges_.loop.Now(); away > Duration::zero()) {
    LookLater(key, away);
    return done(OkStatus());
  }
  if (const Duration hold = HoldOf(key); hold > Duration::zero() && MayWait(*pod)) {
    LookLater(key, hold);
    return done(OkStatus());
  }
  const std::optional<WantedPodStatus> wanted = WantedOf(*pod);
  if (options_.manager) {
    // The informer's Pod answers most looks without a request; only what is to be written needs the
    // server's version of the lists.
    if (SaysItAll(*pod, wanted)) return WriteOrRest(*pod, std::nullopt, done);
    return ReadThenWrite(*pod, std::move(done));
  }
  // What a Pod once said of devices it holds no more stays: it is how the Pod ended.
  if (!wanted) {
    NotRefused(key);
    return done(OkStatus());
  }
  WriteOrRest(*pod, FindingsPatch(*pod, *wanted, edges_.loop.WallNow()), std::move(done));
}

void PodPublisher::ReadThenWrite(const kube::Pod& pod, Done done) {
  const ObjectKey key = pod.meta.key;
  calls_[key] =
      edges_.client.Do(kube::Get(kube::kPods, key.ns, key.name),
                       [this, key, uid = pod.meta.uid, done](StatusOr<Json> object) {
                         calls_.erase(key);
                         NoteReply(object.status());
                         if (object.status().code() == Code::kNotFound) {
                           NotRefused(key);
                           return done(OkStatus());
                         }
                         if (!object.ok() && !IsRetryable(object.status())) {
                           Refused(key, "Pod cannot be read, asked again later", object.status());
                           return done(OkStatus());
                         }
                         if (!object.ok()) return done(object.status());
                         const StatusOr<kube::Pod> fresh = kube::DecodePod(*object);
                         // Another Pod has the name now; its own arrival marks it.
                         if (!fresh.ok() || fresh->meta.uid != uid) return done(OkStatus());
                         WriteOrRest(*fresh, PatchOf(*object, *fresh), done);
                       });
}

bool PodPublisher::SaysItAll(const kube::Pod& pod,
                             const std::optional<WantedPodStatus>& wanted) const {
  if (!SaysAll(pod, wanted, options_.runs(pod))) return false;
  const std::optional<Json> run = HasEnded(pod) ? std::nullopt : options_.run_of(pod);
  return !run || SaysRun(pod, *run);
}

std::optional<Json> PodPublisher::PatchOf(const Json& object, const kube::Pod& pod) {
  const WallTime now = edges_.loop.WallNow();
  if (const std::optional<Json> run = options_.run_of(pod)) {
    return RunPatch(object, WantedOf(pod), *run, now);
  }
  return WholePatch(object, pod, WantedOf(pod), options_.runs(pod), now);
}

void PodPublisher::WriteOrRest(const kube::Pod& pod, const std::optional<Json>& patch, Done done) {
  if (!patch) {
    NotRefused(pod.meta.key);
    // It says it already, perhaps written by an agent before this one: there is no delay to
    // measure.
    for (const auto& [id, health] : SendChanges(pod.meta.key)) {
      records_.at(pod.meta.key).changes.at(id).untold.reset();
    }
    return done(OkStatus());
  }
  if (const Duration wait = TakeTurn(records_[pod.meta.key]); wait > Duration::zero()) {
    LookLater(pod.meta.key, wait);
    return done(OkStatus());
  }
  Write(pod, *patch, std::move(done));
}

void PodPublisher::Write(const kube::Pod& pod, const Json& patch, Done done) {
  ++writes_;
  calls_[pod.meta.key] =
      edges_.client.Do(kube::Patch(kube::kPods, pod.meta.key.ns, pod.meta.key.name,
                                   kube::PatchType::kStrategic, patch, {.subresource = "status"}),
                       [this, pod, written = SendChanges(pod.meta.key),
                        extended = !leave_out_extended_, done](const StatusOr<Json>& reply) {
                         calls_.erase(pod.meta.key);
                         // Of many that are under way each is refused.
                         if (extended && RefusesExtended(reply.status(), pod)) {
                           return LeaveOutExtended(pod, reply.status(), done);
                         }
                         if (extended && reply.ok() && !pod.extended_claim.empty()) TellLeftOut();
                         Conclude(pod, written, reply.status(), done);
                       });
}

void PodPublisher::LeaveOutExtended(const kube::Pod& pod, const Status& status, const Done& done) {
  edges_.metrics.Add(metric::kApiWrites, {{"kind", "Pod"}, {"result", "error"}});
  NoteReply(status);
  NoteUntold(pod.meta.key);
  if (!std::exchange(leave_out_extended_, true)) {
    ask_again_ = edges_.loop.After(kExtendedAgain, [this] { Retry(); });
  }
  if (!std::exchange(leaving_out_told_, true)) {
    edges_.log.Warning("API server takes no health of extended resources in a container's status",
                       {{"pod", ToString(pod.meta.key)}, {"error", status.message()}});
  }
  LookLater(pod.meta.key, Duration::zero());
  done(OkStatus());
}

void PodPublisher::Conclude(const kube::Pod& pod, const Findings& written, const Status& status,
                            Done done) {
  edges_.metrics.Add(metric::kApiWrites,
                     {{"kind", "Pod"}, {"result", status.ok() ? "ok" : "error"}});
  NoteReply(status);
  if (!status.ok()) NoteUntold(pod.meta.key);
  // The Pod may have gone while it was written; neither way is it refused any more.
  const bool gone = status.code() == Code::kNotFound;
  if (status.ok() || gone) NotRefused(pod.meta.key);
  if (gone) return done(OkStatus());
  if (!status.ok() && !IsRetryable(status)) {
    Refused(pod.meta.key, "Pod status refused, asked again later", status);
    return done(OkStatus());
  }
  // The queue looks again, later and later: at the Pod as it is then, not at this patch.
  if (!status.ok()) return done(status);
  NoteTold(pod, written);
  done(OkStatus());
}

void PodPublisher::TellLeftOut() {
  for (const ObjectKey& key : left_out_) queue_.MarkDirty(key);
}

void PodPublisher::NoteUntold(const ObjectKey& key) {
  const auto record = records_.find(key);
  if (record == records_.end()) return;
  for (auto& [id, change] : record->second.changes) change.pacer.Failed();
}

void PodPublisher::NoteTold(const kube::Pod& pod, const Findings& written) {
  const auto record = records_.find(pod.meta.key);
  for (const auto& [id, health] : written) {
    if (record != records_.end()) {
      const auto it = record->second.changes.find(id);
      // What changed while the write was under way is still to be told.
      const bool known = it != record->second.changes.end() && it->second.untold;
      if (known && *it->second.untold == health) it->second.untold.reset();
    }
    const Duration after_sign = std::max(edges_.loop.WallNow() - health.since, Duration::zero());
    // A Pod that came after the sign was not waiting to be told of it.
    const bool witnessed = !pod.meta.created || health.since >= *pod.meta.created;
    if (witnessed && after_sign <= kMeasuredMost) {
      edges_.metrics.Observe(metric::kPublishSeconds, {},
                             std::chrono::duration<double>(after_sign).count());
    }
    options_.on_told(pod, health, after_sign);
  }
}

// A line for each reason: a right that was taken away refuses every Pod, again and again.
void PodPublisher::Refused(const ObjectKey& key, const std::string& what, const Status& status) {
  if (refusals_told_.First(ReasonOf(status, key))) {
    edges_.log.Error(what, {{"pod", ToString(key)}, {"error", status.message()}});
  }
  Refusal& refusal = refusals_[key];
  refusal.why = status.message();
  LookLater(key, refusal.backoff.Next(edges_.random));
}

void PodPublisher::NotRefused(const ObjectKey& key) {
  if (refusals_.erase(key) == 0 || !refusals_.empty()) return;
  refusals_told_ = {};
  edges_.log.Info("no Pod is refused any more");
}

std::optional<WantedPodStatus> PodPublisher::WantedOf(const kube::Pod& pod) {
  std::vector<HeldDevice> devices = edges_.index.DevicesOf(pod.meta.key);
  if (devices.empty()) return std::nullopt;
  for (HeldDevice& held : devices) {
    if (leave_out_extended_ && held.claim == pod.extended_claim) held.uses.clear();
  }
  if (leave_out_extended_ && !pod.extended_claim.empty()) left_out_.insert(pod.meta.key);
  if (!leave_out_extended_) left_out_.erase(pod.meta.key);
  if (!HasEnded(pod)) return WantedStatusOf(devices, options_.health_of, options_.degraded);
  Findings& said = records_[pod.meta.key].said;
  for (const HeldDevice& held : devices) {
    DeviceHealth present = options_.health_of(held.device);
    const auto [it, first] = said.try_emplace(held.device, present);
    const bool worse = IsFault(present.state) && present.state > it->second.state;
    if (!first && worse) it->second = std::move(present);
  }
  return WantedStatusOf(
      devices, [&](const DeviceId& id) { return said.at(id); }, options_.degraded);
}

Duration PodPublisher::HoldOf(const ObjectKey& key) const {
  const auto record = records_.find(key);
  if (stopping_ || record == records_.end()) return Duration::zero();
  Time first = Time::max();
  for (const auto& [id, change] : record->second.changes) {
    if (!change.untold) continue;
    const std::optional<Time> when = change.pacer.not_before();
    if (!when) return Duration::zero();
    first = std::min(first, *when);
  }
  if (first == Time::max()) return Duration::zero();
  return first - edges_.loop.Now();
}

bool PodPublisher::MayWait(const kube::Pod& pod) const {
  if (pod.phase != "Running" || pod.meta.deleted) return false;
  const std::optional<Json> run = options_.run_of(pod);
  return !run || SaysRun(pod, *run);
}

PodPublisher::Findings PodPublisher::SendChanges(const ObjectKey& key) {
  Findings sent;
  const auto record = records_.find(key);
  if (record == records_.end()) return sent;
  for (auto& [id, change] : record->second.changes) {
    if (change.untold) sent.emplace(id, *change.untold);
    change.pacer.Sent();
  }
  return sent;
}

Duration PodPublisher::TakeTurn(Record& record) {
  const Time now = edges_.loop.Now();
  const Duration wait = record.writes.Wait(now);
  if (wait == Duration::zero()) record.writes.Take(now);
  return wait;
}

void PodPublisher::NoteReply(const Status& status) {
  // A conflict, like any refusal, is the word of a server that is there.
  const bool conflict = status.code() == Code::kAborted;
  if (!IsRetryable(status) || conflict) return outage_.Reset();
  // Of many calls that fail together the first counts.
  const Time now = edges_.loop.Now();
  if (now >= away_until_) away_until_ = now + outage_.Next(edges_.random);
}

void PodPublisher::LookLater(const ObjectKey& key, Duration delay) {
  later_[key] = edges_.loop.After(delay, [this, key] {
    later_.erase(key);
    MarkDirty(key);
  });
}

}  // namespace galen::agent
