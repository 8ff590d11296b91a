// Names of the kernel as device names of Kubernetes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace galen::probes {

// The Kubernetes device name for a name of the kernel ("eth0.100", "0000:4b:00.0"): lower case,
// other marks become "-". "" when none can be made. Two names may give the same one.
std::string DeviceNameOf(std::string_view name);

}  // namespace galen::probes
