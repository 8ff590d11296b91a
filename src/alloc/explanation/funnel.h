// Where the devices of a request's class go, one step after the other, until those are left that it
// could have. Pure.
#pragma once

#include "alloc/explanation/explanation.h"
#include "alloc/explanation/trial.h"

namespace galen::alloc {

// The funnel of a request alone, or of one entry of its `firstAvailable`.
RequestFunnel FunnelOf(Trial& trial, const PodReach& reach, const ResourceClaim& claim,
                       std::size_t request, std::size_t wish);

// "a, b, c and 4 more".
std::string Listed(const std::vector<std::string>& names, std::size_t shown);

}  // namespace galen::alloc
