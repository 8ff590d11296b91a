// Which nodes a Pod may go to, apart from its devices: readiness, cordons, taints, node selector
// and required node affinity. Values and pure functions. Not looked at: CPU, memory, ports,
// spreading, affinity to other Pods, preferences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "alloc/objects/node_selector.h"
#include "alloc/objects/resource_claim.h"
#include "base/data/json.h"
#include "model/taint.h"

namespace galen::alloc {

// A node as far as Pods are let onto it.
struct NodeState {
  Node node;
  bool ready = false;
  bool cordoned = false;
  std::vector<DeviceTaint> taints;  // effects that keep nobody away are TaintEffect::kNone
};
// From a v1 Node.
NodeState ReadNodeState(const Json& object);

// What a Pod demands of its node.
struct PodReach {
  std::vector<DeviceToleration> tolerations;
  // All of them must match; from spec.nodeSelector and the required node affinity.
  std::vector<NodeSelector> selectors;
  // Where the devices are of its claims that have some. All must match, too, but kube-scheduler
  // looks at them last: it asks its allocator about other nodes all the same, whose errors count
  // (dynamicresources.go, Filter: unavailableClaims).
  std::vector<NodeSelector> held;
};
// From a v1 Pod or a Pod template.
PodReach ReadPodReach(const Json& pod);

// Why the Pod cannot go to the node: "not ready", "cordoned", "untolerated taint KEY", "not among
// the nodes the Pod selects", "not where its other claims have their devices"; "" when it can.
std::string RefusalOf(const PodReach& pod, const NodeState& node);
// The same without the last of these: "" for a node about which the allocator is asked.
std::string RefusalBeforeClaims(const PodReach& pod, const NodeState& node);

}  // namespace galen::alloc
