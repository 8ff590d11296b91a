// The one write that makes a Pod say what it should, or none when it already does. Pure.
#pragma once

#include <optional>
#include <string>

#include "agent/publish/pod_status.h"
#include "base/data/json.h"

namespace galen::agent {

// Observer: annotation and condition, compared with the informer's Pod. A strategic merge patch for
// pods/status that only fits the Pod of this uid: conditions merge by type there, so the kubelet's
// stay as they are, and a service account that may only patch pods/status can write the annotation
// with it (seen on Kubernetes 1.37). nullopt: it says it all.
std::optional<Json> FindingsPatch(const kube::Pod& pod, const WantedPodStatus& wanted,
                                  WallTime now);
// The same without the annotation.
std::optional<Json> ConditionPatch(const kube::Pod& pod, const WantedPodStatus& wanted,
                                   WallTime now);

// Manager: whether the informer's Pod shows it all already, so that the server need not be asked.
// `wanted` is nullopt for a Pod without devices.
bool ShowsStatus(const kube::Pod& pod, const std::optional<WantedPodStatus>& wanted, bool running);

// Manager: the same, and the container statuses, which the manager owns. `object` is the Pod as
// the server has it now: the lists are replaced as a whole, so the patch only fits that version.
// `running`: its claims are prepared, so its containers are shown as running.
std::optional<Json> WholePatch(const Json& object, const kube::Pod& pod,
                               const std::optional<WantedPodStatus>& wanted, bool running,
                               WallTime now);

// Manager that runs containers: whether the informer's Pod says all of `run` (RunStatusOf) already;
// times of transitions apart.
bool SaysRun(const kube::Pod& pod, const Json& run);

// Manager that runs containers: a strategic merge patch of pods/status that fits only this version
// of the Pod, since lists are replaced as a whole. `object` is the Pod as the server has it now,
// `wanted` what is to be said of its devices, if it has any. A Pod that has ended keeps what it
// says of its containers.
std::optional<Json> RunPatch(const Json& object, const std::optional<WantedPodStatus>& wanted,
                             const Json& run, WallTime now);

}  // namespace galen::agent
