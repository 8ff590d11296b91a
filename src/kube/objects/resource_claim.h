// resource.k8s.io/v1 ResourceClaim → model's Claim: what was allocated, and which Pods hold it.
#pragma once

#include "base/data/json.h"
#include "model/claim.h"

namespace galen::kube {

// InvalidArgument when its metadata is broken. A claim without an allocation has no devices.
// Consumers that are not Pods are left out.
StatusOr<Claim> DecodeClaim(const Json& object);

}  // namespace galen::kube
