#include "agent/pod_runner.h"

#include <utility>

#include "agent/agent_metrics.h"
#include "agent/claim_index.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::agent {
PodRunner::PodRunner(Edges edges, OnReady on_ready)
    : edges_(edges),
      on_ready_(std::move(on_ready)),
      queue_(
          edges.loop, edges.random,
          {.backoff = {.first = std::chrono::milliseconds(100), .most = std::chrono::seconds(30)}},
          [this](const PodRef& ref, Done done) { Reconcile(ref, std::move(done)); }) {}

void PodRunner::Open() {
  open_ = true;
  edges_.view.ForEachPod([this](const kube::Pod& pod) { MarkDirty(pod.ref()); });
  // A name is not known of these, and not needed: their uid is.
  for (const std::string& uid : edges_.preparer.PodsInCheckpoint()) MarkDirty({{}, uid});
}

void PodRunner::MarkDirty(const PodRef& pod) {
  if (open_) queue_.MarkDirty(pod);
}

bool PodRunner::Runs(const kube::Pod& pod) const {
  return !pod.meta.deleted && !HasEnded(pod) && edges_.preparer.IsReady(pod);
}

void PodRunner::Reconcile(const PodRef& ref, Done done) {
  const kube::Pod* pod = edges_.view.FindPod(ref.key);
  // Of the checkpoint's Pods those that are still there come by their names as well.
  if (ref.key.name.empty()) {
    bool present = false;
    edges_.view.ForEachPod([&](const kube::Pod& p) { present |= p.meta.uid == ref.uid; });
    if (present) return done(OkStatus());
  }
  // Gone, perhaps with another of its name in its place: only the claims are left.
  if (pod == nullptr || pod->meta.uid != ref.uid) return Release(ref, std::move(done), {});
  if (pod->meta.deleted) {
    return Release(ref, done, [this, ref, done] { Delete(ref, done); });
  }
  // As the kubelet: claims go when the Pod has ended, not when it is deleted.
  if (HasEnded(*pod)) return Release(ref, std::move(done), {});
  Run(*pod, std::move(done));
}

void PodRunner::Run(const kube::Pod& pod, Done done) {
  // A claim that changes marks its Pods again, so waiting needs no clock.
  if (edges_.preparer.IsWaiting(pod)) return done(OkStatus());
  if (edges_.preparer.IsReady(pod)) {
    on_ready_(pod.meta.key);
    return done(OkStatus());
  }
  edges_.preparer.Prepare(pod, [this, ref = pod.ref(), done](const Status& status) {
    if (status.code() == Code::kAborted) return Await(ref, done);
    WakeWaiting();
    if (status.ok()) {
      on_ready_(ref.key);
      return done(OkStatus());
    }
    edges_.events.Tell(ref, "prepare",
                       // The kubelet's own reason, so that tools that know it find ours.
                       {true, "FailedPrepareDynamicResources",
                        CutText("Failed to prepare dynamic resources: " + status.message(),
                                kube::kEventMessageBytesMax)});
    done(status);
  });
}

void PodRunner::Release(const PodRef& ref, Done done, std::function<void()> next) {
  edges_.preparer.Unprepare(ref.uid, [this, ref, done,
                                      next = std::move(next)](const Status& status) {
    if (status.code() == Code::kAborted) return Await(ref, done);
    WakeWaiting();
    if (status.ok()) return next ? next() : done(OkStatus());
    edges_.log.Warning("claims of a Pod are not let go of yet",
                       {{"pod", ToString(ref.key)}, {"uid", ref.uid}, {"error", status.message()}});
    done(status);
  });
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
      // Only after its claims are let go of: a Pod that is no more protects no device.
      kube::Delete(kube::kPods, ref.key.ns, ref.key.name, {.grace_seconds = 0, .uid = ref.uid}),
      [this, ref, done](const StatusOr<Json>& reply) {
        calls_.erase(ref);
        edges_.metrics.Add(metric::kApiWrites,
                           {{"kind", "PodDeletion"}, {"result", reply.ok() ? "ok" : "error"}});
        // Gone already, or another of its name: nothing is left to do.
        const bool settled =
            reply.ok() || !IsRetryable(reply.status()) || reply.status().code() == Code::kAborted;
        done(settled ? OkStatus() : reply.status());
      });
}

}  // namespace galen::agent
