// Which device of a health source is which device of the driver that offers it: by what the
// hardware says of itself, never by names, of which each side has its own. Pure.
#pragma once

#include <map>
#include <string>

#include "model/device.h"
#include "model/hardware_ids.h"

namespace galen::agent {

// How the devices of one driver and of its health source go together.
struct DeviceMatches {
  struct Match {
    DeviceId source;         // the device of the health source
    bool partition = false;  // the driver's device is a part of it
    bool operator==(const Match&) const = default;
  };
  std::map<DeviceId, Match> found;  // by the driver's device
  // Why a driver's device has none although something matches: what contradicts what, and what to
  // do. By the driver's device.
  std::map<DeviceId, std::string> refused;
  bool operator==(const DeviceMatches&) const = default;
};

// `offered` are the driver's devices by its ResourceSlices, `probed` those of its health source.
// Two are one if the first of these that both sides have is equal: UUID, PCI address, serial; and
// none of the others contradicts it. A device with a parent's UUID is a partition: it goes with the
// parent, as many others may. Otherwise an id that two devices of one side have decides nothing;
// devices of different types may share it, since drivers offer one GPU in several forms (NVIDIA's
// "gpu" and "vfio"). What matches nothing is in neither map.
DeviceMatches MatchDevices(const std::map<DeviceId, HardwareIds>& offered,
                           const std::map<DeviceId, HardwareIds>& probed);

}  // namespace galen::agent
