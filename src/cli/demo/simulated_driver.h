// Chooses the driver of a node for a simulated device. Values; pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace galen::cli {

// A driver with simulated hardware, from its own answer.
struct SimulatedDriver {
  std::string name;
  std::string socket;
  std::vector<std::string> devices;
  std::vector<std::string> signs;
};

// A device that no driver that answered simulates, from the node's agent.
struct SilentDevice {
  std::string driver;
  std::string device;
  std::string why;  // "driver gpu.example.com is gone: …"; "" when its driver is there and real
  std::string advice = "start it";  // what to do about `why`
};

// The only driver, or the one that has `device` ("" = any). NotFound, with the reason if `silent`
// has one; InvalidArgument when several match: --driver chooses.
StatusOr<SimulatedDriver> ChooseDriver(const std::vector<SimulatedDriver>& drivers,
                                       const std::string& device,
                                       const std::vector<SilentDevice>& silent);

// OK, or InvalidArgument that says how to list the driver's signs.
Status CheckSign(const SimulatedDriver& driver, const std::string& sign);

}  // namespace galen::cli
