#include "active/thermal_zones.h"

#include <algorithm>
#include <charconv>

namespace galen::active {
namespace {

// Readings outside these are not a temperature: zones without a sensor say -274 °C or 0.
constexpr int kZoneLeast = 1'000, kZoneMost = 200'000;  // thousandths of a degree

}  // namespace

std::optional<double> HottestZone(FileSystem& files, const std::string& sysfs_root) {
  const std::string directory = sysfs_root + "/class/thermal";
  const auto names = files.List(directory);
  if (!names.ok()) return std::nullopt;
  std::optional<double> hottest;
  for (const std::string& name : *names) {
    if (!name.starts_with("thermal_zone")) continue;
    const auto text = files.Read(directory + "/" + name + "/temp");
    int thousandths = 0;
    if (!text.ok() ||
        std::from_chars(text->data(), text->data() + text->size(), thousandths).ec != std::errc()) {
      continue;
    }
    if (thousandths < kZoneLeast || thousandths > kZoneMost) continue;
    hottest = std::max(hottest.value_or(0), thousandths / 1000.0);
  }
  return hottest;
}

}  // namespace galen::active
