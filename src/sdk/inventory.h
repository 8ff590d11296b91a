// A driver's devices, checked against Kubernetes' limits and converted to its types. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "galen/driver.h"
#include "kube/objects/resource_slice.h"
#include "model/device.h"

namespace galen::sdk {

// The most devices: what the agent takes in one report.
inline constexpr std::size_t kDevicesMax = kNodeDevicesMax;
// Limits of resource.k8s.io/v1 on one device: attributes and capacities together, taints, and bytes
// of an attribute's text.
inline constexpr std::size_t kAttributesAndCapacitiesMax = 32;
inline constexpr std::size_t kTaintsMax = 16;
inline constexpr std::size_t kAttributeTextMax = 64;

// Whether a taint may have this value, which is a label's: letters, digits, "-", "_", ".", both
// ends alphanumeric, at most 63. "" means no value, and is allowed.
bool IsTaintValue(std::string_view value);

// InvalidArgument with every fault in it (the first 20 in full, the rest counted), each with its
// device. Called before anything is written, because the API server would refuse a whole slice for
// one device.
Status ValidateInventory(const Inventory& inventory);

// REQUIRES: a device of a valid inventory.
kube::SliceDevice ToSliceDevice(const Device& device);

}  // namespace galen::sdk
