// What one kind of galen-driver looks after: which devices there are, what they show, and what a
// container needs to use them. Belongs to its loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "galen/driver.h"
#include "probes/rules/sign.h"

namespace galen::device_driver {

// Where hardware that reports by itself reports to. From the loop only.
struct HardwareEvents {
  probes::SignSink& signs;           // what it shows
  std::function<void()> look_again;  // there is something to observe
};

// What a kind of driver knows about its hardware; DeviceDriver does the rest. Observe(), of Probe,
// returns what all devices show now.
class Hardware : public probes::Probe {
 public:
  // The devices there are now. Reads what there is to read, so it may block for a moment; an error
  // means that they could not be looked for, an empty list that there are none.
  virtual StatusOr<Inventory> Devices() = 0;
  // What a container gets that uses `device`: environment, device nodes. Empty for a device that is
  // not there.
  virtual CdiEdits EditsFor(const std::string& device) const = 0;
  // Starts to listen for what hardware says by itself. Once; `events` outlives the hardware.
  virtual Status Start(HardwareEvents& events) = 0;
};

}  // namespace galen::device_driver
