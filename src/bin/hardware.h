// What one kind of galen-driver looks after: which devices there are, what they show, and what a
// container needs to use them. Belongs to its loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "galen/driver.h"
#include "probes/sign.h"
#include "rpc/service.h"

namespace galen::device_driver {

// Where hardware that speaks up by itself is heard.
struct HardwareEars {
  probes::SignSink& signs;           // what it shows
  std::function<void()> look_again;  // there is something to observe
};

class Hardware : public probes::Probe {
 public:
  // The devices there are now. Reads what there is to read.
  virtual StatusOr<Inventory> Devices() = 0;
  virtual CdiEdits EditsFor(const std::string& device) const = 0;
  // Adds services of its own to the driver's socket.
  virtual void Serve(rpc::Dispatcher& dispatcher) = 0;
  // Starts to listen. `ears` outlives the hardware.
  virtual Status Start(HardwareEars& ears) = 0;
};

}  // namespace galen::device_driver
