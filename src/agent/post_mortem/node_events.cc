#include "agent/post_mortem/node_events.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace galen::agent {
namespace {

constexpr std::string_view kDisruption = "DisruptionTarget";
constexpr std::string_view kByKubelet = "TerminationByKubelet";

// The first row whose words the message has; the resources are those of the kubelet's thresholds.
struct WordsRow {
  std::string_view words;
  NodeEvent::Kind kind;
  std::string_view text;
};
constexpr WordsRow kWords[] = {
    {"low on resource: memory", NodeEvent::Kind::kMemoryPressure, "the node was short of memory"},
    {"low on resource: ", NodeEvent::Kind::kDiskPressure, "the node was short of a resource"},
    {"node shutdown", NodeEvent::Kind::kShutdown, "the node was shut down"},
};

std::optional<NodeEvent> EventOf(const kube::PodCondition& condition) {
  const bool told = condition.type == kDisruption && condition.status == "True" &&
                    condition.reason == kByKubelet && condition.changed;
  if (!told) return std::nullopt;
  for (const WordsRow& row : kWords) {
    if (condition.message.find(row.words) == std::string::npos) continue;
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
