// How a thing of the kernel's is named as a device of Kubernetes'. Pure.
#pragma once

#include <string>
#include <string_view>

namespace galen::probes {

// The device name that Kubernetes takes for something of the kernel's ("eth0.100", "0000:4b:00.0"):
// lower case, other marks become "-". "" when none can be made. Two names may give one.
std::string DeviceNameOf(std::string_view name);

}  // namespace galen::probes
