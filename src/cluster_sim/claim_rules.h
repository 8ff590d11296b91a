// What is special about the kinds of resource.k8s.io. Pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "base/time.h"
#include "cluster_sim/refusal.h"

namespace galen::cluster_sim {

// A taint that evicts counts tolerations from when it was added.
void StampRuleTaint(Json& rule, WallTime now);
void StampSliceTaints(Json& slice, WallTime now);
// An exact count that is not said is 1.
void FillRequestCounts(Json& claim_spec);

Faults CheckClaimSpec(const Json& spec, const std::string& path);
Faults CheckClaimChange(const Json& before, const Json& after);
Faults CheckSlice(const Json& slice);
Faults CheckSliceChange(const Json& before, const Json& after);
Faults CheckTaintRule(const Json& rule);

// Upstream's limits of resource.k8s.io/v1.
inline constexpr std::size_t kDevicesPerSliceMax = 128;
inline constexpr std::size_t kTaintedDevicesPerSliceMax = 64;
inline constexpr std::size_t kReservedForMax = 256;
inline constexpr std::size_t kRequestsMax = 32;

}  // namespace galen::cluster_sim
