// Claims that hold devices, for tests of pictures. Values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "alloc/explanation/picture.h"

namespace galen::alloc {

inline Allocation AllocationOf(const std::vector<DeviceId>& ids) {
  Allocation allocation;
  for (const DeviceId& id : ids) {
    AllocatedDevice device;
    device.request = "gpu";
    device.id = id;
    allocation.devices.push_back(std::move(device));
  }
  return allocation;
}

inline HeldClaim HeldBy(std::vector<ObjectKey> pods, const std::string& claim,
                        const std::vector<DeviceId>& ids) {
  HeldClaim held;
  held.key = {"ns", claim};
  held.allocation = AllocationOf(ids);
  held.pods = std::move(pods);
  return held;
}

}  // namespace galen::alloc
