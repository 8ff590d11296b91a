// Which of the devices that a kubelet may give to a container go well together. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "sdk/plugin/plugin_devices.h"

namespace galen::sdk {

// `size` of `available`, `must` among them and first: on as few NUMA nodes as can be, the nodes of
// those that must be there before others, and on a node below as few PCIe roots as can be. Of
// several that are alike in this, the one with the fewest free devices, so that large groups stay
// whole; if none has enough, the one with the most. Devices of which nothing is known are
// given last, a node whose roots are not known as one root. The same arguments give the same
// answer. InvalidArgument when `size` cannot be met.
StatusOr<std::vector<std::string>> PreferDevices(const PluginDevices& devices,
                                                 const std::vector<std::string>& available,
                                                 const std::vector<std::string>& must,
                                                 std::size_t size);

}  // namespace galen::sdk
