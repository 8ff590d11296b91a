// What a share of a device's capacity consumes (KEP-5075): requests rounded up by the device's
// policies, and whether what is left is enough. Pure. Source of the rules:
// structured/internal/incubating/consumable_capacity.go of k8s.io/dynamic-resource-allocation.
#pragma once

#include <string>

#include "alloc/objects/resource_slice.h"
#include "alloc/selection/options.h"

namespace galen::alloc {

// What asking for capacity comes to on a device.
struct Share {
  enum class Verdict {
    kFits,
    kMissing,  // the device has no capacity of a requested name
    kPolicy,   // the policy allows no such share
    kTooMuch,  // too little is left
    kError,    // the request cannot be computed: upstream gives up altogether
  };
  Verdict verdict = Verdict::kFits;
  // By the device's capacities, in their order; complete with kFits only.
  NamedQuantities consumed = {};
  std::string error = {};
};

// `requested` is null when nothing is asked for. `held` is consumed already by others, `taking` in
// this attempt; null: nothing.
Share ComputeShare(const std::vector<DeviceCapacity>& capacity, const NamedQuantities* requested,
                   const NamedQuantities* held, const NamedQuantities* taking,
                   const Options& options);

}  // namespace galen::alloc
