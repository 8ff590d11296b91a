// What Pods show of their node: that it was short of something, or shut down. Pure.
#pragma once

#include <vector>

#include "agent/holdings/node_view.h"
#include "model/crash_evidence.h"

namespace galen::agent {

// What the kubelet gave as its reason for taking Pods of this node down from `from` to `until`, the
// first of each kind. It says so in the condition DisruptionTarget (KEP-3329), whose words are
// pkg/kubelet/eviction's and pkg/kubelet/nodeshutdown's of Kubernetes.
std::vector<NodeEvent> NodeEventsOf(const NodeView& view, WallTime from, WallTime until);

}  // namespace galen::agent
