#include "cli/demo/simulated_driver.h"

#include <fmt/format.h>

#include <algorithm>

namespace galen::cli {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The error when no driver that answered has the device, with what else is known of it.
Status Missing(const std::vector<SimulatedDriver>& drivers, const std::string& device,
               const std::vector<SilentDevice>& silent) {
  for (const SilentDevice& known : silent) {
    if (known.device != device && !device.empty()) continue;
    if (!known.why.empty()) return NotFound("{}; {}, then try again", known.why, known.advice);
    if (device.empty()) continue;
    return NotFound("{} is real: it belongs to driver {}, which simulates nothing", device,
                    known.driver);
  }
  if (drivers.empty()) return NotFound("no driver of this node simulates its hardware");
  std::string text;
  for (const SimulatedDriver& driver : drivers) {
    text += fmt::format("; {} has {}", driver.name, fmt::join(driver.devices, ", "));
  }
  // A misspelt name, like an unknown sign.
  return InvalidArgument("no driver of this node simulates a device {}{}", device, text);
}

}  // namespace

StatusOr<SimulatedDriver> ChooseDriver(const std::vector<SimulatedDriver>& drivers,
                                       const std::string& device,
                                       const std::vector<SilentDevice>& silent) {
  std::vector<SimulatedDriver> meant;
  std::vector<std::string> names;
  for (const SimulatedDriver& driver : drivers) {
    if (!device.empty() && !Has(driver.devices, device)) continue;
    meant.push_back(driver);
    names.push_back(driver.name);
  }
  if (meant.empty()) return Missing(drivers, device, silent);
  if (meant.size() == 1) return meant[0];
  return InvalidArgument("several drivers simulate {} ({}): choose one by --driver",
                         device.empty() ? "devices" : "a device " + device, fmt::join(names, ", "));
}

Status CheckSign(const SimulatedDriver& driver, const std::string& sign) {
  if (Has(driver.signs, sign)) return OkStatus();
  return InvalidArgument("{} knows no sign '{}': `galen inject` lists those there are", driver.name,
                         sign);
}

}  // namespace galen::cli
