#include <fmt/format.h>

#include "cli/demo/demo_story.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/sign.h"
#include "probes/sysfs/device_look.h"
#include "probes/sysfs/file_pattern.h"

namespace galen::cli {
namespace {

// A kind of device, its built-in table, and the sign to show.
struct Source {
  std::string pattern;
  std::string_view table;
  std::string sign;
  std::string driver;  // the driver that reports it
};

// "temp1_input 41 °C" of the first device that has the sign; "" for none.
std::string Show(const probes::SysfsFiles& files, const std::string& root, const Source& source) {
  const StatusOr<probes::RuleTable> rules =
      probes::ParseRules(probes::BuiltInRules(source.table), source.table);
  const auto devices = probes::FindPaths(files, root, source.pattern);
  if (!rules.ok() || !devices.ok()) return "";
  const probes::SignSpec* spec = rules->FindSign(source.sign);
  for (const probes::FoundPath& device : *devices) {
    const probes::DeviceLook look = probes::LookAtDevice(files, root + "/" + device.path, {spec},
                                                         [](const auto&, const auto&) {});
    if (look.readings.empty() || !look.readings.front().value) continue;
    const probes::SignReading& reading = look.readings.front();
    std::string text =
        fmt::format("{}: {} {}", device.path, source.sign, probes::NumberText(*reading.value));
    if (reading.expected) text += " of " + probes::NumberText(*reading.expected);
    return fmt::format("{} {} ({})", text, spec->unit, source.driver);
  }
  return "";
}

// A card with hardware behind it, unlike a bridge or a veth.
std::string ShowNetworkCard(const probes::SysfsFiles& files, const std::string& root) {
  const auto cards = probes::FindPaths(files, root, "class/net/*");
  if (!cards.ok()) return "";
  for (const probes::FoundPath& card : *cards) {
    const std::string path = root + "/" + card.path;
    // The file cannot be read while the card is administratively down.
    const StatusOr<std::string> carrier = files.Read(path + "/carrier");
    if (!files.IsDirectory(path + "/device") || !carrier.ok()) continue;
    return fmt::format("{}: carrier {} (galen-driver nic)", card.path,
                       carrier->starts_with("1") ? "up" : "down");
  }
  return "";
}

}  // namespace

std::string RealSign(const probes::SysfsFiles& files, const std::string& sysfs_root) {
  const Source sources[] = {
      {"class/hwmon/hwmon*", "hwmon", "temperature", "galen-driver sysfs"},
      {"bus/pci/devices/*", "pci", "link-width", "galen-driver pci"},
  };
  for (const Source& source : sources) {
    if (std::string shown = Show(files, sysfs_root, source); !shown.empty()) return shown;
  }
  return ShowNetworkCard(files, sysfs_root);
}

}  // namespace galen::cli
