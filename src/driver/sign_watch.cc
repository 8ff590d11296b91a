#include "driver/sign_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "base/text.h"

namespace galen::device_driver {
namespace {

// Where a person looks for the files of a device.
std::string PlaceOf(const Device& device) {
  for (const auto& [attribute, prefix] :
       {std::pair("path", ""), std::pair("resource.kubernetes.io/pciBusID", "bus/pci/devices/")}) {
    const auto known = device.attributes.find(attribute);
    if (known == device.attributes.end()) continue;
    if (const auto* text = std::get_if<std::string>(&known->second)) return prefix + *text;
  }
  return device.name;
}

// "nvme0, nvme1 and 6 more".
std::string SomeOf(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 8;
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return names.size() <= kNamed ? text : fmt::format("{} and {} more", text, names.size() - kNamed);
}

}  // namespace

SignWatch::SignWatch(Edges edges, bool reads_kernel_log)
    : edges_(edges), reads_kernel_log_(reads_kernel_log), shown_(edges.rules) {}

void SignWatch::Start() {
  NoteKernelLog();
  timer_ = edges_.loop.After(kLooksTake, [this] { Tell(); });
}

void SignWatch::SetDevices(const Inventory& devices) {
  places_.clear();
  for (const Device& device : devices) places_[device.name] = PlaceOf(device);
}

void SignWatch::Take(const std::vector<probes::Sign>& signs) {
  // What comes later is no news any more.
  if (told_) return;
  for (const probes::Sign& sign : signs) shown_.Take(sign);
}

void SignWatch::NoteKernelLog() {
  if (reads_kernel_log_) return;
  std::vector<std::string> ids;
  for (const probes::Rule& rule : edges_.rules.rules) {
    const probes::SignSpec* sign = edges_.rules.FindSign(rule.sign);
    if (sign != nullptr && sign->kernel) ids.push_back(rule.id);
  }
  if (ids.empty()) return;
  said_.push_back(fmt::format(
      "the kernel's log is not read, which {} of the table look at: start it with --kernel-log "
      "/dev/kmsg",
      Counted(ids.size(), "rule")));
  edges_.log.Warning("rules look at the kernel's log, which is not read",
                     {{"rules", SomeOf(ids)}, {"advice", "start it with --kernel-log /dev/kmsg"}});
}

void SignWatch::Tell() {
  if (places_.empty()) {
    timer_ = edges_.loop.After(kLooksTake, [this] { Tell(); });
    return;
  }
  told_ = true;
  for (const probes::UnshownSign& sign : shown_.Unshown()) {
    const std::string& first = places_.begin()->second;
    const std::string where =
        places_.size() == 1 ? first : fmt::format("{} and {} more", first, places_.size() - 1);
    said_.push_back(probes::UnshownText(sign, "of the driver"));
    edges_.log.Warning("no device shows a sign that rules look at: they find nothing",
                       {{"sign", sign.sign},
                        {"rules", sign.rules},
                        {"looked_for", sign.looked_for},
                        {"below", where}});
  }
  NoteExtended();
}

void SignWatch::NoteExtended() {
  std::vector<std::string> devices;
  for (const auto& [name, place] : places_) devices.push_back(name);
  const std::vector<std::string> without = shown_.WithoutExtended(devices);
  if (without.empty()) return;
  const bool all = without.size() == devices.size();
  said_.push_back(fmt::format("{} no file of the built-in table {}",
                              all ? "no device shows a sign by" : SomeOf(without) + ": there is",
                              edges_.rules.extends));
  edges_.log.Warning(all ? "no device shows any sign that the built-in table reads from files"
                         : "some devices show no sign that the built-in table reads from files",
                     {{"table", edges_.rules.extends}, {"devices", SomeOf(without)}});
}

}  // namespace galen::device_driver
