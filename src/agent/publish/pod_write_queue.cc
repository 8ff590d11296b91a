#include "agent/publish/pod_write_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace galen::agent {
namespace {

// A refusal's text without the Pod's name, so that equal refusals of many Pods have one reason.
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

}  // namespace

PodWriteQueue::PodWriteQueue(Edges edges, Look look)
    : edges_(edges),
      queue_(
          edges.loop, edges.random,
          {.backoff = {.first = std::chrono::milliseconds(50), .most = std::chrono::seconds(30)}},
          std::move(look)) {}

void PodWriteQueue::MarkLater(const ObjectKey& pod, Duration delay) {
  later_[pod] = edges_.loop.After(delay, [this, pod] {
    later_.erase(pod);
    queue_.MarkDirty(pod);
  });
}

void PodWriteQueue::Flush() {
  // Their timers are dropped: a Pod that must wait for the server gets a new one at its look.
  for (const auto& [pod, timer] : std::exchange(later_, {})) queue_.MarkDirty(pod);
}

void PodWriteQueue::Forget(const ObjectKey& pod) {
  turns_.erase(pod);
  later_.erase(pod);
  NotRefused(pod);
}

Duration PodWriteQueue::away() const {
  return std::max(away_until_ - edges_.loop.Now(), Duration::zero());
}

void PodWriteQueue::NoteReply(const Status& status) {
  // A conflict, like any refusal, comes from a server that is there.
  const bool conflict = status.code() == Code::kAborted;
  if (!IsRetryable(status) || conflict) return outage_.Reset();
  // When many calls fail together, the first counts.
  const Time now = edges_.loop.Now();
  if (now >= away_until_) away_until_ = now + outage_.Next(edges_.random);
}

Duration PodWriteQueue::TakeTurn(const ObjectKey& pod) {
  const Time now = edges_.loop.Now();
  TokenBucket& turns = turns_.try_emplace(pod, kBurst, kRefill).first->second;
  const Duration wait = turns.Wait(now);
  if (wait == Duration::zero()) turns.Take(now);
  return wait;
}

// One line of the log for each reason: a revoked right refuses every Pod, again and again.
void PodWriteQueue::Refused(const ObjectKey& pod, const std::string& what, const Status& status) {
  if (refusals_logged_.First(ReasonOf(status, pod))) {
    edges_.log.Error(what, {{"pod", ToString(pod)}, {"error", status.message()}});
  }
  Refusal& refusal = refusals_[pod];
  refusal.why = status.message();
  MarkLater(pod, refusal.backoff.Next(edges_.random));
}

void PodWriteQueue::NotRefused(const ObjectKey& pod) {
  if (refusals_.erase(pod) == 0 || !refusals_.empty()) return;
  refusals_logged_ = {};
  edges_.log.Info("no Pod is refused any more");
}

std::string PodWriteQueue::trouble() const {
  if (refusals_.empty()) return "";
  const auto& [pod, refusal] = *refusals_.begin();
  const std::size_t more = refusals_.size() - 1;
  return fmt::format("{}: {}{}", ToString(pod), refusal.why,
                     more == 0 ? "" : fmt::format(", and {} more", Counted(more, "Pod")));
}

}  // namespace galen::agent
