#include "agent/post_mortem/post_mortem_end.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "agent/holdings/claim_index.h"
#include "history/post_mortem/post_mortem_text.h"

namespace galen::agent {
namespace {

using history::PodEnd;

void AddEnds(const std::vector<kube::ContainerStatus>& statuses, std::vector<ContainerEnd>& ends) {
  for (const kube::ContainerStatus& status : statuses) {
    if (!status.exit_code && !status.finished) continue;
    ends.push_back({.container = status.name,
                    .exit_code = status.exit_code,
                    .signal = status.signal,
                    .reason = status.end_reason,
                    .message = status.end_message,
                    .started = status.end_started,
                    .finished = status.finished,
                    // A container that runs again was restarted once after this end.
                    .restarts = std::max(0, status.restarts - (status.running ? 1 : 0))});
  }
}

// They stand among the init containers and run beside the others.
bool IsSidecar(const kube::Pod& pod, const std::string& name) {
  return std::ranges::any_of(pod.containers, [&](const kube::Container& container) {
    return container.name == name && container.kind == kube::Container::Kind::kSidecar;
  });
}

// Whether the Pod's work is done, so that its sidecars are stopped. A container that the policy
// restarts is not done; without a policy the API server takes "Always".
bool IsWindingUp(const kube::Pod& pod) {
  if (HasEnded(pod)) return true;
  const bool never_again = pod.restart_policy == "Never";
  const bool again_if_failed = pod.restart_policy == "OnFailure";
  return !pod.statuses.empty() &&
         std::ranges::all_of(pod.statuses, [&](const kube::ContainerStatus& status) {
           const bool stays = never_again || (again_if_failed && status.exit_code == 0);
           return stays && !status.running && status.finished;
         });
}

// The newest end of a container; the epoch when none has a time.
WallTime LastFinished(const std::vector<ContainerEnd>& ends) {
  WallTime last{};
  for (const ContainerEnd& end : ends) last = std::max(last, end.finished.value_or(last));
  return last;
}

// Whether the cluster or the node removed it. Other reasons of a Pod ("DeadlineExceeded") belong to
// Pods that ended by themselves.
bool IsEvicted(const kube::Pod& pod) {
  static const std::set<std::string_view> kReasons = {"Evicted",  "Preempting", "NodeShutdown",
                                                      "Shutdown", "Terminated", "NodeLost"};
  return kReasons.contains(pod.reason) ||
         std::ranges::any_of(pod.conditions, [](const kube::PodCondition& condition) {
           return condition.type == "DisruptionTarget" && condition.status == "True";
         });
}

// How a Pod ended that will not run again: a decision of the cluster or the node counts before what
// its containers show.
PodEnd KindOf(const kube::Pod& pod, PodEnd otherwise) {
  if (IsEvicted(pod)) return PodEnd::kEvicted;
  return pod.asked_to_go ? PodEnd::kDeleted : otherwise;
}

// Whether `end` is a bad end that `before` does not show yet.
bool IsNewCrash(const kube::Pod& before, const ContainerEnd& end) {
  if (!EndedBadly(end)) return false;
  const std::vector<ContainerEnd> earlier = ContainerEndsOf(before);
  return std::ranges::none_of(earlier, [&](const ContainerEnd& other) {
    return other.container == end.container && other.finished == end.finished &&
           other.started == end.started;
  });
}

// Whether a Pod that is seen for the first time crashed after `away_since`.
bool IsSince(const std::optional<WallTime>& away_since, const ContainerEnd& end) {
  return away_since && EndedBadly(end) && end.finished &&
         *end.finished + kEndPrecision >= *away_since;
}

constexpr std::string_view kDisruption = "DisruptionTarget";
constexpr std::string_view kByKubelet = "TerminationByKubelet";

// The first row whose part the message has; the resources are those of the kubelet's thresholds.
struct MessageRow {
  std::string_view part;
  NodeEvent::Kind kind;
  std::string_view text;
};
constexpr MessageRow kMessages[] = {
    {"low on resource: memory", NodeEvent::Kind::kMemoryPressure, "the node was short of memory"},
    {"low on resource: ", NodeEvent::Kind::kDiskPressure, "the node was short of a resource"},
    {"node shutdown", NodeEvent::Kind::kShutdown, "the node was shut down"},
};

std::optional<NodeEvent> EventOf(const kube::PodCondition& condition) {
  const bool by_kubelet = condition.type == kDisruption && condition.status == "True" &&
                          condition.reason == kByKubelet && condition.changed;
  if (!by_kubelet) return std::nullopt;
  for (const MessageRow& row : kMessages) {
    if (condition.message.find(row.part) == std::string::npos) continue;
    return NodeEvent{row.kind, *condition.changed, std::string(row.text)};
  }
  return std::nullopt;
}

void KeepFirst(std::vector<NodeEvent>& events, const NodeEvent& event) {
  const auto same = std::ranges::find(events, event.kind, &NodeEvent::kind);
  if (same == events.end()) {
    events.push_back(event);
  } else if (event.time < same->time) {
    *same = event;
  }
}

}  // namespace

std::string ReasonOf(const kube::Pod& pod) {
  if (!pod.reason.empty()) return pod.reason;
  for (const kube::PodCondition& condition : pod.conditions) {
    if (condition.type == "DisruptionTarget" && condition.status == "True") return condition.reason;
  }
  return "";
}

std::vector<ContainerEnd> ContainerEndsOf(const kube::Pod& pod) {
  std::vector<ContainerEnd> ends;
  AddEnds(pod.init_statuses, ends);
  for (ContainerEnd& end : ends) end.init = !IsSidecar(pod, end.container);
  AddEnds(pod.statuses, ends);
  return ends;
}

std::optional<PodEnding> EndingOf(const kube::Pod* before, const kube::Pod* after, WallTime now,
                                  std::optional<WallTime> away_since) {
  if (after == nullptr) {
    if (before == nullptr) return std::nullopt;
    return PodEnding{KindOf(*before, PodEnd::kDeleted), ReasonOf(*before), now};
  }
  const std::vector<ContainerEnd> ends = ContainerEndsOf(*after);
  if (HasEnded(*after)) {
    // A container that waited for its restart ended when it was asked to.
    const WallTime last = std::max(LastFinished(ends), after->asked_to_go.value_or(WallTime{}));
    const PodEnd phase = after->phase == "Succeeded" ? PodEnd::kSucceeded : PodEnd::kFailed;
    // A clock that is ahead of ours must not move the end past now.
    return PodEnding{KindOf(*after, phase), ReasonOf(*after),
                     last == WallTime{} ? now : std::min(last, now)};
  }
  if (before != nullptr && before->meta.uid != after->meta.uid) return std::nullopt;
  WallTime crashed{};
  for (const ContainerEnd& end : ends) {
    // The Pod is ending because it was asked to, and has ended when it is gone.
    if (EndedAsAsked(end, after->asked_to_go)) continue;
    const bool is_new = before != nullptr ? IsNewCrash(*before, end) : IsSince(away_since, end);
    if (is_new) crashed = std::max(crashed, end.finished.value_or(now));
  }
  if (crashed == WallTime{}) return std::nullopt;
  return PodEnding{PodEnd::kCrashed, ReasonOf(*after), std::min(crashed, now)};
}

std::vector<Crash> NewCrashes(const kube::Pod* before, const kube::Pod& after) {
  std::vector<Crash> crashes;
  if (before == nullptr || before->meta.uid != after.meta.uid) return crashes;
  for (const ContainerEnd& end : ContainerEndsOf(after)) {
    if (!end.finished || !IsNewCrash(*before, end)) continue;
    if (EndedAsAsked(end, after.asked_to_go)) continue;
    // The kubelet stops a sidecar then, and its exit code is mostly bad, just as after a crash.
    if (IsWindingUp(after) && IsSidecar(after, end.container)) continue;
    crashes.push_back({after.ref(), history::TextOf(end), *end.finished});
  }
  return crashes;
}

std::vector<NodeEvent> NodeEventsOf(const NodeView& view, WallTime from, WallTime until) {
  std::vector<NodeEvent> events;
  view.ForEachPod([&](const kube::Pod& pod) {
    for (const kube::PodCondition& condition : pod.conditions) {
      const std::optional<NodeEvent> event = EventOf(condition);
      if (event && event->time >= from && event->time <= until) KeepFirst(events, *event);
    }
  });
  return events;
}

}  // namespace galen::agent
