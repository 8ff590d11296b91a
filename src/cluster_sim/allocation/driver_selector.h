// The one device selector that first fit understands: CEL that compares the driver's name.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::cluster_sim {

// The driver that `expression` selects when it reads `device.driver == "name"`, with either quote
// and any spaces. InvalidArgument for every other expression: guessing what it selects could hand
// out a device that it excludes.
StatusOr<std::string> SelectedDriver(std::string_view expression);

}  // namespace galen::cluster_sim
