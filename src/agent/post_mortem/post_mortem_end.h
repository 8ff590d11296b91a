// How Pods and their containers ended, derived from the API's present and former objects. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/health/change_log.h"
#include "agent/holdings/node_view.h"
#include "history/post_mortem/post_mortem.h"
#include "kube/objects/pod.h"
#include "model/crash_evidence.h"

namespace galen::agent {

// The end of a Pod, or a crash of a container while its Pod lives on.
struct PodEnding {
  history::PodEnd end = history::PodEnd::kFailed;
  std::string reason;  // of status.reason, else of a DisruptionTarget condition; or ""
  WallTime time{};     // of the end as the Pod shows it, else `now`
  bool operator==(const PodEnding&) const = default;
};

// nullopt while the Pod lives and no container crashed; an end after the Pod was asked to go is no
// crash. `before` null: the Pod is seen for the first time, and only crashes since `away_since`
// count (none if that is unknown). `after` null: gone from the API.
std::optional<PodEnding> EndingOf(const kube::Pod* before, const kube::Pod* after, WallTime now,
                                  std::optional<WallTime> away_since = {});

// The last end of each container that has one, init containers and sidecars first, as they ran.
std::vector<ContainerEnd> ContainerEndsOf(const kube::Pod& pod);

// Why somebody other than its containers ended the Pod; "" when nobody did.
std::string ReasonOf(const kube::Pod& pod);

// The bad ends of containers that `after` shows and `before` does not, each as "container train,
// exit 134 (SIGABRT)"; init containers and sidecars among them, but nothing that was stopped
// because the Pod was asked to go, nor a sidecar because it is done. A Pod that is seen for the
// first time (null) has none, since its ends are old; nor does a container that ended well.
std::vector<Crash> NewCrashes(const kube::Pod* before, const kube::Pod& after);

// Shortages and shutdowns of the node: the reasons that the kubelet gave for ending Pods of this
// node from `from` to `until`, the first of each kind. They stand in the condition DisruptionTarget
// (KEP-3329), worded by pkg/kubelet/eviction and pkg/kubelet/nodeshutdown of Kubernetes.
std::vector<NodeEvent> NodeEventsOf(const NodeView& view, WallTime from, WallTime until);

}  // namespace galen::agent
