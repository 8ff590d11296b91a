#include "probes/device_name.h"

#include <algorithm>

#include "base/text.h"

namespace galen::probes {

std::string DeviceNameOf(std::string_view name) {
  std::string device;
  for (const char c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool upper = c >= 'A' && c <= 'Z';
    device += kept ? c : upper ? static_cast<char>(c - 'A' + 'a') : '-';
  }
  while (!device.empty() && device.back() == '-') device.pop_back();
  device.erase(0, std::min(device.find_first_not_of('-'), device.size()));
  return IsDnsLabel(device) ? device : "";
}

}  // namespace galen::probes
