#include "alloc/objects/pod_reach.h"

#include <algorithm>
#include <utility>

namespace galen::alloc {
namespace {

bool IsReady(const Json& conditions) {
  return std::any_of(
      conditions.items().begin(), conditions.items().end(), [](const Json& condition) {
        return condition["type"].AsString() == "Ready" && condition["status"].AsString() == "True";
      });
}

// Labels as a node selector of one term.
NodeSelector SelectorOfLabels(const Json& labels) {
  NodeSelectorTerm term;
  for (const auto& [key, value] : labels.members()) {
    term.expressions.push_back(
        {.key = key, .op = NodeRequirement::Operator::kIn, .values = {value.AsString()}});
  }
  return {.terms = {std::move(term)}};
}

// A selector that Kubernetes cannot evaluate matches no node.
bool MatchAll(const std::vector<NodeSelector>& selectors, const Node& node) {
  return std::all_of(selectors.begin(), selectors.end(), [&](const NodeSelector& selector) {
    return Validate(selector).ok() && Matches(selector, node);
  });
}

}  // namespace

NodeState ReadNodeState(const Json& object) {
  NodeState state{.node = ReadNode(object),
                  .ready = IsReady(object["status"]["conditions"]),
                  .cordoned = object["spec"]["unschedulable"].AsBool()};
  for (const Json& taint : object["spec"]["taints"].items()) {
    state.taints.push_back({.key = taint["key"].AsString(),
                            .value = taint["value"].AsString(),
                            .effect = ParseTaintEffect(taint["effect"].AsString()),
                            .added = std::nullopt});
  }
  return state;
}

PodReach ReadPodReach(const Json& pod) {
  const Json& spec = pod["spec"];
  PodReach reach{.tolerations = ReadTolerations(spec["tolerations"])};
  if (!spec["nodeSelector"].members().empty()) {
    reach.selectors.push_back(SelectorOfLabels(spec["nodeSelector"]));
  }
  const Json& affinity =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!affinity.is_null()) reach.selectors.push_back(ReadNodeSelector(affinity));
  return reach;
}

// In the order in which people would look for a reason.
std::string RefusalBeforeClaims(const PodReach& pod, const NodeState& node) {
  if (!node.ready) return "not ready";
  if (node.cordoned) return "cordoned";
  for (const DeviceTaint& taint : node.taints) {
    const bool tolerated =
        taint.effect == TaintEffect::kNone ||
        std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                    [&](const DeviceToleration& one) { return Tolerates(one, taint); });
    if (!tolerated) return "untolerated taint " + taint.key;
  }
  return MatchAll(pod.selectors, node.node) ? "" : "not among the nodes the Pod selects";
}

std::string RefusalOf(const PodReach& pod, const NodeState& node) {
  std::string refusal = RefusalBeforeClaims(pod, node);
  if (!refusal.empty() || MatchAll(pod.held, node.node)) return refusal;
  return "not where its other claims have their devices";
}

}  // namespace galen::alloc
