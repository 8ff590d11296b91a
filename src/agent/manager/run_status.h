// What the life of a Pod's processes is in the terms of the API: phase, conditions and container
// statuses, as a kubelet writes them. Pure. Source:
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodStatus
#pragma once

#include "agent/containers/container_plan.h"
#include "agent/containers/pod_life.h"
#include "base/data/json.h"

namespace galen::agent {

// The members phase, conditions (without times), containerStatuses and initContainerStatuses of a
// Pod's status. Equal lives give equal values. REQUIRES: `life` was made of `plan`.
Json RunStatusOf(const PodPlan& plan, const PodLife& life);

// Gives a new life what the Pod's status says of the one before it. A container that is shown as
// running is not running any more: its processes ended with the agent, and how they ended is not
// known.
// REQUIRES: `life` was made of `plan` and nothing was started.
void RestoreLife(const PodPlan& plan, const Json& status, Time now, WallTime wall, PodLife& life);

}  // namespace galen::agent
