// A driver's devices, checked against Kubernetes' limits and told in its words. Pure.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "galen/driver.h"
#include "kube/objects/resource_slice.h"

namespace galen::sdk {

inline constexpr std::size_t kDevicesMax = 4096;
inline constexpr std::size_t kAttributesAndCapacitiesMax = 32;
inline constexpr std::size_t kTaintsMax = 16;
inline constexpr std::size_t kAttributeTextMax = 64;

// InvalidArgument with every fault in it, each with its device.
Status ValidateInventory(const Inventory& inventory);

kube::SliceDevice ToSliceDevice(const Device& device);

}  // namespace galen::sdk
