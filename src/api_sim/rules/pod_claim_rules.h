// What a Pod's status may say of its claims (DRA, KEP-5004): the names of those that were made for
// it, and which request of which claim stands for an extended resource of a container. Pure
// functions for pod_rules.h; upstream's are in pkg/apis/core/validation.
#pragma once

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"

namespace galen::api_sim {

// status.resourceClaimStatuses: each names an entry of spec.resourceClaims, once.
Faults CheckClaimStatuses(const Json& pod);

// status.extendedResourceClaimStatus: a claim, and at least one mapping; each mapping is of a
// container or init container that requests the resource, and none is there twice.
Faults CheckExtendedResourceClaim(const Json& pod);

// Whether `container` may report devices as `name`: as the claim that was made for its extended
// resources, "claim:CLAIM/REQUEST" with the name of the ResourceClaim, for the Pod has none of its
// own for it. The container must request more than none of the resource.
bool HasExtendedResourceClaim(const Json& pod, const Json& container, std::string_view name);

}  // namespace galen::api_sim
