// Allocations as tests read and make them. Pure.
#pragma once

#include <string>
#include <vector>

#include "alloc/objects/resource_claim.h"
#include "base/data/json.h"
#include "model/device.h"

namespace galen::cluster_sim {

// The devices of a status.allocation, in its order.
inline std::vector<DeviceId> HeldDevices(const Json& allocation) {
  std::vector<DeviceId> devices;
  const alloc::Allocation read = alloc::ReadAllocation(allocation).value();
  for (const alloc::AllocatedDevice& device : read.devices) devices.push_back(device.id);
  return devices;
}

// An allocation of the slice's device of that name.
inline Json AllocationOf(const Json& slice, const std::string& device) {
  const Json& spec = slice["spec"];
  return alloc::WriteAllocation(
      {.devices = {{.request = "main",
                    .id = {spec["driver"].AsString(), spec["pool"]["name"].AsString(), device}}}});
}

}  // namespace galen::cluster_sim
