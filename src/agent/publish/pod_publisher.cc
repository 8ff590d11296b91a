#include "agent/publish/pod_publisher.h"

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// A longer delay is not measured: the agent or the API server was away, so publishing did not cause
// it.
constexpr Duration kMeasuredMost = std::chrono::minutes(10);

// Whether the server may have refused an entry's name: API servers before 1.37 do not know the form
// for extended resources.
bool RefusesExtended(const Status& status, const kube::Pod& pod) {
  return status.code() == Code::kInvalidArgument && !pod.extended_claim.empty() &&
         status.message().find("allocatedResourcesStatus") != std::string::npos;
}

}  // namespace

PodPublisher::PodPublisher(Edges edges, Options options)
    : edges_(edges),
      options_(std::move(options)),
      queue_({edges.loop, edges.random, edges.log},
             [this](const ObjectKey& key, Done done) { Reconcile(key, std::move(done)); }) {}

void PodPublisher::Open() { open_ = true; }

void PodPublisher::Retry() {
  leave_out_extended_ = false;
  if (left_out_.empty()) return;
  ask_again_ = edges_.loop.After(kExtendedAgain, [this] { Retry(); });
  // One Pod's answer decides for all. A copy: a look may remove it from the set.
  MarkDirty(ObjectKey(*left_out_.begin()));
}

void PodPublisher::KeepEvidence(const ObjectKey& pod) {
  if (!open_) return;
  if (const kube::Pod* present = edges_.view.FindPod(pod)) KeepIfEnded(*present);
}

void PodPublisher::MarkDirty(const ObjectKey& pod) {
  if (open_) queue_.MarkDirty(pod);
}

void PodPublisher::Expect(const ObjectKey& pod, const DeviceHealth& health) {
  changes_.Expect(pod, health, edges_.loop.Now());
}

void PodPublisher::Flush() {
  stopping_ = true;
  queue_.Flush();
}

void PodPublisher::Forget(const ObjectKey& pod) {
  changes_.Forget(pod);
  ended_.Forget(pod);
  conditions_.Forget(pod);
  left_out_.erase(pod);
  queue_.Forget(pod);
}

void PodPublisher::Reconcile(const ObjectKey& key, Done done) {
  const kube::Pod* pod = edges_.view.FindPod(key);
  // The Pod is gone since it was marked; a refusal that came after Forget is dropped here.
  if (pod == nullptr) {
    queue_.NotRefused(key);
    return done(OkStatus());
  }
  // Not a failure of this Pod: its own backoff stays short for when the server is back.
  if (const Duration away = queue_.away(); away > Duration::zero()) {
    queue_.MarkLater(key, away);
    return done(OkStatus());
  }
  const Duration hold = stopping_ ? Duration::zero() : changes_.HoldOf(key, edges_.loop.Now());
  if (hold > Duration::zero() && MayWait(*pod)) {
    queue_.MarkLater(key, hold);
    return done(OkStatus());
  }
  const Duration patience = options_.patience_with(*pod);
  if (!stopping_ && patience > Duration::zero() && patience < Duration::max()) {
    queue_.MarkLater(key, patience);
  }
  KeepIfEnded(*pod);
  NoteLeftOut(*pod);
  const std::optional<WantedPodStatus> wanted = WantedOf(*pod);
  if (options_.manager) {
    // The informer's Pod answers most looks without a request; only what is to be written needs the
    // server's version of the lists.
    if (NeedsNoWrite(*pod, wanted)) return WriteIfNeeded(*pod, std::nullopt, done);
    return ReadThenWrite(*pod, std::move(done));
  }
  // A Pod keeps what it once showed of devices that it no longer holds: it is how the Pod ended.
  if (!wanted) {
    queue_.NotRefused(key);
    return done(OkStatus());
  }
  const std::optional<kube::Pod> newer = conditions_.Newer(*pod);
  WriteFindings(newer ? *newer : *pod, *wanted, std::move(done));
}

void PodPublisher::WriteFindings(const kube::Pod& pod, const WantedPodStatus& wanted, Done done) {
  const ObjectKey& key = pod.meta.key;
  const WallTime now = edges_.loop.WallNow();
  const Duration hold = AnnotationHoldOf(pod);
  const std::size_t news = changes_.UnpublishedOf(key);
  std::optional<Json> condition = ConditionPatch(pod, wanted, now);
  // The condition names one device: only the annotation shows further changes.
  const bool enough = condition ? news <= 1 : news == 0;
  if (hold == Duration::zero() || !enough) {
    return WriteIfNeeded(pod, FindingsPatch(pod, wanted, now), std::move(done));
  }
  queue_.MarkLater(key, hold);
  if (!condition) return done(OkStatus());
  WriteIfNeeded(pod, condition, std::move(done));
}

Duration PodPublisher::AnnotationHoldOf(const kube::Pod& pod) const {
  // A Pod without an annotation, or one that starts or ends, is being synced by the kubelet anyway.
  if (stopping_ || pod.devices_annotation.empty() || !MayWait(pod)) return Duration::zero();
  return changes_.AnnotationHoldOf(pod.meta.key, edges_.loop.Now());
}

void PodPublisher::ReadThenWrite(const kube::Pod& pod, Done done) {
  const ObjectKey key = pod.meta.key;
  calls_[key] = edges_.client.Do(
      kube::Get(kube::kPods, key.ns, key.name),
      [this, key, uid = pod.meta.uid, done](StatusOr<Json> object) {
        calls_.erase(key);
        queue_.NoteReply(object.status());
        if (object.status().code() == Code::kNotFound) {
          queue_.NotRefused(key);
          return done(OkStatus());
        }
        if (!object.ok() && !IsRetryable(object.status())) {
          queue_.Refused(key, "Pod cannot be read, asked again later", object.status());
          return done(OkStatus());
        }
        if (!object.ok()) return done(object.status());
        const StatusOr<kube::Pod> fresh = kube::DecodePod(*object);
        // Another Pod has the name now, on the server or in our view: its own arrival marks it.
        const kube::Pod* known = edges_.view.FindPod(key);
        if (!fresh.ok() || fresh->meta.uid != uid || known == nullptr || known->meta.uid != uid)
          return done(OkStatus());
        // The server may already show that it has ended.
        KeepIfEnded(*fresh);
        NoteLeftOut(*fresh);
        WriteIfNeeded(*fresh, PatchOf(*object, *fresh), done);
      });
}

bool PodPublisher::NeedsNoWrite(const kube::Pod& pod,
                                const std::optional<WantedPodStatus>& wanted) const {
  if (!ShowsStatus(pod, wanted, options_.runs(pod))) return false;
  const std::optional<Json> run = HasEnded(pod) ? std::nullopt : options_.run_of(pod);
  return !run || SaysRun(pod, *run);
}

std::optional<Json> PodPublisher::PatchOf(const Json& object, const kube::Pod& pod) const {
  const WallTime now = edges_.loop.WallNow();
  if (const std::optional<Json> run = options_.run_of(pod)) {
    return RunPatch(object, WantedOf(pod), *run, now);
  }
  return WholePatch(object, pod, WantedOf(pod), options_.runs(pod), now);
}

void PodPublisher::WriteIfNeeded(const kube::Pod& pod, const std::optional<Json>& patch,
                                 Done done) {
  if (!patch) {
    queue_.NotRefused(pod.meta.key);
    // It already shows all, perhaps written by an earlier agent: there is no delay to measure.
    changes_.NothingToWrite(pod.meta.key);
    return done(OkStatus());
  }
  if (const Duration wait = queue_.TakeTurn(pod.meta.key); wait > Duration::zero()) {
    queue_.MarkLater(pod.meta.key, wait);
    return done(OkStatus());
  }
  Write(pod, *patch, std::move(done));
}

void PodPublisher::Write(const kube::Pod& pod, const Json& patch, Done done) {
  ++writes_;
  const bool annotated = patch["metadata"].Has("annotations");
  if (annotated) changes_.SendAnnotation(pod.meta.key);
  calls_[pod.meta.key] =
      edges_.client.Do(kube::Patch(kube::kPods, pod.meta.key.ns, pod.meta.key.name,
                                   kube::PatchType::kStrategic, patch, {.subresource = "status"}),
                       [this, pod, annotated, written = changes_.Send(pod.meta.key),
                        extended = !leave_out_extended_, done](const StatusOr<Json>& reply) {
                         calls_.erase(pod.meta.key);
                         // Each write under way is refused in the same way.
                         if (extended && RefusesExtended(reply.status(), pod)) {
                           return LeaveOutExtended(pod, reply.status(), done);
                         }
                         if (extended && reply.ok() && !pod.extended_claim.empty()) MarkLeftOut();
                         Conclude(pod, {written, annotated}, reply, done);
                       });
}

void PodPublisher::LeaveOutExtended(const kube::Pod& pod, const Status& status, const Done& done) {
  edges_.metrics.Add(metric::kApiWrites, {{"kind", "Pod"}, {"result", "error"}});
  queue_.NoteReply(status);
  changes_.Failed(pod.meta.key);
  if (!std::exchange(leave_out_extended_, true)) {
    ask_again_ = edges_.loop.After(kExtendedAgain, [this] { Retry(); });
  }
  if (!std::exchange(leaving_out_logged_, true)) {
    edges_.log.Warning(
        "API server refuses the health of extended resources in a container's status",
        {{"pod", ToString(pod.meta.key)}, {"error", status.message()}});
  }
  queue_.MarkLater(pod.meta.key, Duration::zero());
  done(OkStatus());
}

void PodPublisher::Conclude(const kube::Pod& pod, const Written& written,
                            const StatusOr<Json>& reply, Done done) {
  const Status& status = reply.status();
  edges_.metrics.Add(metric::kApiWrites,
                     {{"kind", "Pod"}, {"result", status.ok() ? "ok" : "error"}});
  queue_.NoteReply(status);
  const bool present = IsPresent(pod);
  if (!status.ok() && present) changes_.Failed(pod.meta.key);
  // The Pod may have gone during the write; in either case it is not refused any more.
  const bool gone = status.code() == Code::kNotFound;
  if (status.ok() || gone) queue_.NotRefused(pod.meta.key);
  if (gone) return done(OkStatus());
  if (!status.ok() && !IsRetryable(status)) {
    queue_.Refused(pod.meta.key, "Pod status refused, asked again later", status);
    return done(OkStatus());
  }
  // The queue looks at the Pod again after a growing delay, and makes a new patch.
  if (!status.ok()) return done(status);
  if (!options_.manager && present) {
    const StatusOr<kube::Pod> after = kube::DecodePod(*reply);
    if (after.ok()) conditions_.Note(pod, *after);
  }
  OnShown(pod, written);
  done(OkStatus());
}

void PodPublisher::MarkLeftOut() {
  for (const ObjectKey& key : left_out_) queue_.MarkDirty(key);
}

bool PodPublisher::IsPresent(const kube::Pod& pod) const {
  const kube::Pod* present = edges_.view.FindPod(pod.meta.key);
  return present != nullptr && present->meta.uid == pod.meta.uid;
}

void PodPublisher::OnShown(const kube::Pod& pod, const Written& written) {
  if (IsPresent(pod)) changes_.OnWritten(pod.meta.key, written.changes);
  for (const auto& [id, health] : written.changes) {
    const Duration after_sign = std::max(edges_.loop.WallNow() - health.since, Duration::zero());
    // A Pod that was created after the sign did not wait for it.
    const bool witnessed = !pod.meta.created || health.since >= *pod.meta.created;
    if (witnessed && after_sign <= kMeasuredMost) {
      edges_.metrics.Observe(metric::kPublishSeconds, {},
                             std::chrono::duration<double>(after_sign).count());
    }
    options_.on_published(pod, health, {after_sign, written.annotated});
  }
}

void PodPublisher::KeepIfEnded(const kube::Pod& pod) {
  if (!HasEnded(pod)) return;
  const std::vector<HeldDevice>& devices = edges_.index.DevicesOf(pod.meta.key);
  if (devices.empty()) return;
  const WallTime end = EndOf(pod).value_or(edges_.loop.WallNow());
  ended_.Keep(pod.meta.key, end, {edges_.loop.WallNow(), options_.set_back()}, devices,
              options_.health_of, options_.health_at,
              [&](const DeviceId& id) { return edges_.index.IsOnlyOf(pod.meta.key, id); });
}

void PodPublisher::NoteLeftOut(const kube::Pod& pod) {
  if (edges_.index.DevicesOf(pod.meta.key).empty()) return;
  if (!leave_out_extended_) left_out_.erase(pod.meta.key);
  if (leave_out_extended_ && !pod.extended_claim.empty()) left_out_.insert(pod.meta.key);
}

std::optional<WantedPodStatus> PodPublisher::WantedOf(const kube::Pod& pod) const {
  std::vector<HeldDevice> devices = edges_.index.DevicesOf(pod.meta.key);
  if (devices.empty()) return std::nullopt;
  for (HeldDevice& held : devices) {
    if (leave_out_extended_ && held.claim == pod.extended_claim) held.uses.clear();
  }
  const bool awaits = options_.patience_with(pod) > Duration::zero();
  const ShownOthers others = awaits ? ShownOthersOf(pod, devices) : ShownOthers();
  if (!HasEnded(pod)) return WantedStatusOf(devices, options_.health_of, options_.degraded, others);
  // What it says is more than what is known now, as after the journal was lost.
  if (!pod.devices_annotation.empty() && !ended_.KnowsAllOf(pod.meta.key)) return std::nullopt;
  return WantedStatusOf(
      devices, [&](const DeviceId& id) { return ended_.Of(pod.meta.key, id); }, options_.degraded,
      others);
}

bool PodPublisher::MayWait(const kube::Pod& pod) const {
  if (pod.phase != "Running" || pod.meta.deleted) return false;
  const std::optional<Json> run = options_.run_of(pod);
  return !run || SaysRun(pod, *run);
}

}  // namespace galen::agent
