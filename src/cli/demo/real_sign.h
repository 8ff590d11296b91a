// One real sign of the machine that the demo runs on: the story's hardware is simulated, this is
// not.
#pragma once

#include <string>

#include "probes/sysfs/sysfs_files.h"

namespace galen::cli {

// What one thing below `sysfs_root` shows, and which driver would report it: the first of a sensor
// with a temperature, a PCIe link, and a network card. "" where there is none of these. Reads
// files, so it may wait for hardware.
std::string RealSign(const probes::SysfsFiles& files, const std::string& sysfs_root);

}  // namespace galen::cli
