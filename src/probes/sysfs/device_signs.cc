// Tested by sysfs_probe_test.cc.
#include "probes/sysfs/device_signs.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace galen::probes {

Sign DeviceSigns::MakeSign(std::string_view name, WallTime now) const {
  Sign sign;
  sign.device = device_.name;
  sign.name = name;
  sign.time = now;
  const SignSpec* spec = rules_->FindSign(name);
  if (spec != nullptr) sign.unit = spec->unit;
  return sign;
}

std::vector<Sign> DeviceSigns::Unknown(std::string_view sign, const std::string& error,
                                       WallTime now) const {
  std::vector<Sign> signs;
  if (!sign.empty()) signs.push_back(MakeSign(sign, now));
  for (const auto& [name, last] : last_) {
    if (name != sign) signs.push_back(MakeSign(name, now));
  }
  for (Sign& each : signs) each.error = error;
  return signs;
}

std::vector<Sign> DeviceSigns::Take(const DeviceLook& look, WallTime now) {
  Sign present = MakeSign("present", now);
  present.value = look.present ? 1.0 : 0.0;
  if (!look.present) present.raw = fmt::format("sysfs: no directory {}", device_.path);
  std::vector<Sign> signs{std::move(present)};
  const bool back = std::exchange(gone_, !look.present) && look.present;
  if (!look.present) {
    for (Sign& sign : Unknown("", "its directory is gone", now)) signs.push_back(std::move(sign));
    return signs;
  }
  if (back) {
    // Counters begin anew, and what was found of the device before it left is over.
    last_.clear();
    Sign reset = MakeSign("reset", now);
    reset.value = "device";
    reset.raw = fmt::format("sysfs: {} is back", device_.path);
    signs.push_back(std::move(reset));
  }
  std::set<std::string> read;
  for (const SignReading& reading : look.readings) {
    read.insert(reading.sign);
    TakeReading(reading, now, signs);
  }
  // What is read more seldom is still as it was: silence would make the device unknown.
  for (const auto& [name, last] : last_) {
    if (!read.contains(name)) signs.push_back(last);
  }
  return signs;
}

void DeviceSigns::TakeReading(const SignReading& reading, WallTime now, std::vector<Sign>& signs) {
  Sign sign = MakeSign(reading.sign, now);
  if (reading.value) {
    sign.value = *reading.value;
    sign.expected = reading.expected;
    sign.raw = "sysfs: " + reading.raw;
    last_[reading.sign] = sign;
    signs.push_back(std::move(sign));
    return;
  }
  // A file that this device never had is no sign of it; one that it had is missed.
  const bool known = last_.contains(reading.sign);
  if (reading.error.empty() && !known) return;
  sign.error = reading.error.empty() ? "the kernel gives no value any more" : reading.error;
  signs.push_back(std::move(sign));
}

}  // namespace galen::probes
