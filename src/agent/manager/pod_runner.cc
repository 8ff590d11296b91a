#include "agent/manager/pod_runner.h"

#include <fmt/core.h>

#include <utility>

#include "agent/agent_metrics.h"
#include "agent/holdings/claim_index.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// A Pod that only the checkpoint remembers has no name.
std::string NameOf(const PodRef& ref) {
  return ref.key.name.empty() ? "a Pod that is gone, uid " + ref.uid : "Pod " + ToString(ref.key);
}

}  // namespace

PodRunner::PodRunner(Edges edges, OnReady on_ready)
    : edges_(edges),
      on_ready_(std::move(on_ready)),
      queue_(edges.loop, edges.random, {.backoff = kBackoff},
             [this](const PodRef& ref, Done done) { Reconcile(ref, std::move(done)); }) {}

void PodRunner::Open() {
  open_ = true;
  if (edges_.processes != nullptr) edges_.processes->Open();
  edges_.view.ForEachPod([this](const kube::Pod& pod) { MarkDirty(pod.ref()); });
  // Their names are unknown, and not needed: their uid is enough.
  for (const std::string& uid : edges_.preparer.PodsInCheckpoint()) MarkDirty({{}, uid});
}

void PodRunner::MarkDirty(const PodRef& pod) {
  if (open_) queue_.MarkDirty(pod);
}

bool PodRunner::Runs(const kube::Pod& pod) const {
  return !pod.meta.deleted && !HasEnded(pod) && edges_.preparer.IsReady(pod);
}

void PodRunner::OnDriverConnected() {
  for (auto& [ref, failure] : failures_) {
    failure.not_before = {};
    failure.backoff.Reset();
    failure.patient.Reset();
    MarkDirty(ref);
  }
}

std::string PodRunner::trouble() const {
  if (failures_.empty()) return "";
  const auto& [ref, failure] = *failures_.begin();
  return fmt::format("claims of {} cannot be {}: {}", NameOf(ref),
                     failure.unpreparing ? "unprepared" : "prepared", failure.error);
}

void PodRunner::Reconcile(const PodRef& ref, Done done) {
  const auto failed = failures_.find(ref);
  // Updates of the Pod must not turn into a storm of calls that fail.
  if (failed != failures_.end() && edges_.loop.Now() < failed->second.not_before) {
    queue_.MarkDirtyAt(ref, failed->second.not_before);
    return done(OkStatus());
  }
  const kube::Pod* pod = edges_.view.FindPod(ref.key);
  // A key without a name is a Pod that only the checkpoint remembered at the start. While the API
  // still has that Pod, the key with its name is used instead.
  if (ref.key.name.empty()) {
    bool present = false;
    edges_.view.ForEachPod([&](const kube::Pod& p) { present |= p.meta.uid == ref.uid; });
    if (present) return done(OkStatus());
  }
  const bool gone = pod == nullptr || pod->meta.uid != ref.uid;
  // Claims are unprepared only when no process of the Pod can use the devices any more; the end of
  // the last one marks the Pod again.
  const bool over = gone || pod->meta.deleted || HasEnded(*pod);
  if (over && edges_.processes != nullptr && !edges_.processes->End(ref, gone ? nullptr : pod)) {
    return done(OkStatus());
  }
  // Gone, perhaps replaced by another of its name: only the claims are left.
  if (gone) return Release(ref, std::move(done), {});
  if (pod->meta.deleted) return Release(ref, done, [this, ref, done] { Delete(ref, done); });
  // As the kubelet: claims go when the Pod has ended, not when it is deleted.
  if (HasEnded(*pod)) return Release(ref, std::move(done), {});
  Run(*pod, std::move(done));
}

void PodRunner::Run(const kube::Pod& pod, Done done) {
  if (edges_.processes != nullptr) edges_.processes->Correct(pod);
  // A change of the claim marks its Pods again, so no timer is needed.
  if (edges_.preparer.IsWaiting(pod)) {
    failures_.erase(pod.ref());
    return done(OkStatus());
  }
  if (edges_.preparer.IsReady(pod)) {
    Begin(pod.ref());
    return done(OkStatus());
  }
  edges_.preparer.Prepare(pod, [this, ref = pod.ref(), done](const Status& status) {
    if (status.code() == Code::kAborted) return Await(ref, done);
    WakeWaiting();
    if (!status.ok()) return Fail(ref, false, status, done);
    Begin(ref);
    done(OkStatus());
  });
}

void PodRunner::Begin(const PodRef& ref) {
  failures_.erase(ref);
  const kube::Pod* pod = edges_.view.FindPod(ref.key);
  const bool may_run =
      pod != nullptr && pod->meta.uid == ref.uid && !pod->meta.deleted && !HasEnded(*pod);
  if (edges_.processes != nullptr && may_run) edges_.processes->Run(*pod);
  on_ready_(ref.key);
}

void PodRunner::Release(const PodRef& ref, Done done, std::function<void()> next) {
  edges_.preparer.Unprepare(ref.uid,
                            [this, ref, done, next = std::move(next)](const Status& status) {
                              if (status.code() == Code::kAborted) return Await(ref, done);
                              WakeWaiting();
                              if (!status.ok()) return Fail(ref, true, status, done);
                              failures_.erase(ref);
                              if (next) return next();
                              done(OkStatus());
                            });
}

void PodRunner::Fail(const PodRef& ref, bool unpreparing, const Status& status, Done done) {
  Failure& failure = failures_[ref];
  const bool is_news = failure.unpreparing != unpreparing || failure.error != status.message();
  if (failure.unpreparing != unpreparing) failure.backoff.Reset();
  failure.error = status.message();
  failure.unpreparing = unpreparing;
  if (is_news) {
    edges_.log.Warning(unpreparing ? "claims of a Pod cannot be unprepared, trying again"
                                   : "claims of a Pod cannot be prepared, trying again",
                       {{"pod", NameOf(ref)}, {"uid", ref.uid}, {"error", status.message()}});
    PublishFailure(ref, unpreparing, status);
  }
  // Errors that a retry hardly helps are retried slowly, and at once when the Pod or a driver
  // changes.
  const bool retryable = IsRetryable(status);
  Backoff& backoff = retryable ? failure.backoff : failure.patient;
  const Time again = edges_.loop.Now() + backoff.Next(edges_.random);
  failure.not_before = retryable ? again : Time{};
  queue_.MarkDirtyAt(ref, again);
  done(OkStatus());
}

// Once for each different reason: it stays on the Pod for an hour, and troubles show that it lasts.
void PodRunner::PublishFailure(const PodRef& ref, bool unpreparing, const Status& status) {
  // The checkpoint's Pods are gone: nobody can read an Event on them.
  if (ref.key.name.empty()) return;
  const std::string_view what = unpreparing ? "The Pod stays until its claims are unprepared: "
                                            : "Failed to prepare dynamic resources: ";
  edges_.events.Publish(
      ref, unpreparing ? "unprepare" : "prepare",
      {true, unpreparing ? EventReason::kFailedUnprepare : EventReason::kFailedPrepare,
       CutText(std::string(what) + status.message(), kube::kEventMessageBytesMax)});
}

void PodRunner::Await(const PodRef& ref, Done done) {
  waiting_.insert(ref);
  done(OkStatus());
}

void PodRunner::WakeWaiting() {
  for (const PodRef& ref : std::exchange(waiting_, {})) MarkDirty(ref);
}

void PodRunner::Delete(const PodRef& ref, Done done) {
  calls_[ref] = edges_.client.Do(
      // Only after its claims were unprepared: a Pod that is gone protects no device.
      kube::Delete(kube::kPods, ref.key.ns, ref.key.name, {.grace_seconds = 0, .uid = ref.uid}),
      [this, ref, done](const StatusOr<Json>& reply) {
        calls_.erase(ref);
        edges_.metrics.Add(metric::kApiWrites,
                           {{"kind", "PodDeletion"}, {"result", reply.ok() ? "ok" : "error"}});
        // A conflict, too, is tried again: it is not always another Pod of the name, which the next
        // look finds.
        done(reply.ok() ? OkStatus() : reply.status());
      });
}

}  // namespace galen::agent
