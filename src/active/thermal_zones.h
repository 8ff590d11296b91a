// The temperature of this machine's processor.
#pragma once

#include <optional>
#include <string>

#include "base/files/file_system.h"

namespace galen::active {

// The hottest of <sysfs>/class/thermal/thermal_zone*/temp, °C (Documentation/driver-api/thermal of
// the kernel: thousandths of a degree); nullopt where there is none, as in most virtual machines.
std::optional<double> HottestZone(FileSystem& files, const std::string& sysfs_root);

}  // namespace galen::active
