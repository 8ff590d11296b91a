// The service galen.simulator.v1.Simulator on a driver's socket: `galen inject` makes simulated
// devices show signs through it. The devices decide what a sign means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "rpc/service.h"

namespace galen::sdk {

// Devices that show injected signs. Called on the driver's loop.
class SimulatedDevices {
 public:
  // A sign that can be injected. `usual` is its value on a healthy device.
  struct Sign {
    std::string name, unit, help, usual;
  };

  virtual ~SimulatedDevices() = default;
  virtual std::vector<Sign> InjectableSigns() const = 0;
  virtual std::vector<std::string> Names() const = 0;
  // From now on `device` shows `value`. Returns the time that the sign carries; an error lists the
  // known devices or signs.
  virtual StatusOr<WallTime> Inject(std::string_view device, std::string_view sign,
                                    std::string_view value) = 0;
};

// `devices` is borrowed and outlives the dispatcher.
void ServeSimulator(rpc::Dispatcher& dispatcher, SimulatedDevices& devices);

}  // namespace galen::sdk
