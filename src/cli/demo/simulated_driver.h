// Which driver of a node is meant, when somebody wants a simulated device to show a sign. Values;
// pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace galen::cli {

// A driver whose hardware is simulated, as it says itself.
struct SimulatedDriver {
  std::string name;
  std::string socket;
  std::vector<std::string> devices;
  std::vector<std::string> signs;
};

// A device that is not simulated by anybody who answers, as the node's agent knows it.
struct SilentDevice {
  std::string driver;
  std::string device;
  std::string why;  // "driver gpu.example.com is gone: …"; "" when its driver is there and real
  std::string advice = "start it";  // what to do about `why`
};

// The only one, or the one that has `device` ("" = any). NotFound, with the reason where `silent`
// names one; InvalidArgument when several could be meant: --driver chooses.
StatusOr<SimulatedDriver> ChooseDriver(const std::vector<SimulatedDriver>& drivers,
                                       const std::string& device,
                                       const std::vector<SilentDevice>& silent);

// OK, or InvalidArgument that says where the driver's signs are listed.
Status CheckSign(const SimulatedDriver& driver, const std::string& sign);

}  // namespace galen::cli
