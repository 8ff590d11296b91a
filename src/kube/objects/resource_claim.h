// resource.k8s.io/v1 ResourceClaim → model's Claim.
#pragma once

#include "base/json.h"
#include "model/claim.h"

namespace galen::kube {

StatusOr<Claim> DecodeClaim(const Json& object);

}  // namespace galen::kube
