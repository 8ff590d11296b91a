// How Pods and their containers ended, read off what the API says of them now and said before.
// Pure.
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

// An end of a Pod, or a crash of a container of one that lives on.
struct PodEnding {
  history::PodEnd end = history::PodEnd::kFailed;
  std::string reason;  // of status.reason, else of a DisruptionTarget condition; or ""
  WallTime time{};     // of the end as the Pod shows it, else `now`
  bool operator==(const PodEnding&) const = default;
};

// nullopt while it lives and nothing of it crashed: what ends because the Pod was asked to go did
// not. `before` null: seen for the first time; what crashed from `away_since` on is news then, and
// nothing where that is not known. `after` null: gone from the API.
std::optional<PodEnding> EndingOf(const kube::Pod* before, const kube::Pod* after, WallTime now,
                                  std::optional<WallTime> away_since = {});

// The last end of each container that has one, init containers and sidecars first, as they ran.
std::vector<ContainerEnd> ContainerEndsOf(const kube::Pod& pod);

// Why the Pod went where somebody other than its containers decided it; "" when nobody did.
std::string ReasonOf(const kube::Pod& pod);

// The bad ends of containers that `after` shows and `before` does not, each as "container train,
// exit 134 (SIGABRT)"; init containers and sidecars among them, but nothing that was stopped
// because the Pod was asked to go, nor a sidecar because it is done. A Pod that is seen for the
// first time (null) brings its past with it, which is no news; a container that ended well is no
// step of any fault.
std::vector<Crash> NewCrashes(const kube::Pod* before, const kube::Pod& after);

// That the node was short of something, or shut down: the reasons that the kubelet gave for taking
// Pods of this node down from `from` to `until`, the first of each kind. They stand in the
// condition DisruptionTarget (KEP-3329), worded by pkg/kubelet/eviction and
// pkg/kubelet/nodeshutdown of Kubernetes.
std::vector<NodeEvent> NodeEventsOf(const NodeView& view, WallTime from, WallTime until);

}  // namespace galen::agent
