// The one write that makes a Pod say what became of its processes, and how its devices are; or none
// when it says so already. For a manager that runs containers (pod_patch.h is for one that only
// tells of them). Pure.
#pragma once

#include <optional>

#include "agent/publish/pod_status.h"
#include "base/data/json.h"

namespace galen::agent {

// Whether the informer's Pod says all of `run` (RunStatusOf) already; times of transitions apart.
bool SaysRun(const kube::Pod& pod, const Json& run);

// A strategic merge patch of pods/status that fits only this version of the Pod, since lists are
// replaced as a whole. `object` is the Pod as the server has it now, `wanted` what is to be said of
// its devices, if it has any. A Pod that has ended keeps what it says of its containers.
std::optional<Json> RunPatch(const Json& object, const std::optional<WantedPodStatus>& wanted,
                             const Json& run, WallTime now);

}  // namespace galen::agent
