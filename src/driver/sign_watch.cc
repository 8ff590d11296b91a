#include "driver/sign_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.h"

namespace galen::device_driver {
namespace {

// Where a person finds the files of a device.
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

// Devices whose first reads end within this time are named in one line.
constexpr Duration kTogether = std::chrono::seconds(1);

std::string ExtendedText(const std::vector<std::string>& without, bool all,
                         const std::string& table) {
  return fmt::format("{} no file of the built-in table {}",
                     all ? "no device shows a sign by" : SomeOf(without) + ": there is", table);
}

}  // namespace

SignWatch::SignWatch(Edges edges, bool reads_kernel_log)
    : edges_(edges),
      reads_kernel_log_(reads_kernel_log),
      rules_(&edges.rules),
      shown_(edges.rules) {}

void SignWatch::Start() { WarnOfKernelLog(); }

void SignWatch::SetDevices(const Inventory& devices) {
  const auto before = std::exchange(devices_, {});
  for (const Device& device : devices) {
    const auto known = before.find(device.name);
    devices_[device.name] = {PlaceOf(device),
                             known == before.end() ? std::nullopt : known->second.read};
  }
  complete_ = false;
}

void SignWatch::SetRules(const probes::RuleTable& rules) {
  rules_ = &rules;
  shown_.SetRules(rules);
  complete_ = false;
  WarnOfKernelLog();
  Warn();
}

void SignWatch::Take(const std::vector<probes::Sign>& signs) {
  if (complete_) return;
  for (const probes::Sign& sign : signs) {
    shown_.Take(sign);
    const auto device = devices_.find(sign.device);
    if (device == devices_.end() || device->second.read || !IsLook(sign)) continue;
    device->second.read = edges_.loop.Now();
    if (!timer_) timer_ = edges_.loop.After(kLooksTake + kTogether, [this] { Warn(); });
  }
}

// Whether the sign shows that the device was read: signs of commands, exporters and the kernel log
// come even while its files hang.
bool SignWatch::IsLook(const probes::Sign& sign) const {
  if (!sign.error.empty() || sign.name == "active-check") return false;
  if (sign.name == "present") return probes::NumberOf(sign).value_or(0) != 0;
  const probes::SignSpec* spec = rules_->FindSign(sign.name);
  return spec == nullptr ||
         (spec->kind != probes::SignKind::kEvent && !spec->command && !spec->metric);
}

std::vector<std::string> SignWatch::LookedAt() const {
  std::vector<std::string> names;
  for (const auto& [name, device] : devices_) {
    if (device.read && *device.read + kLooksTake <= edges_.loop.Now()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> SignWatch::WithoutKernelLog() const {
  std::vector<std::string> ids;
  if (reads_kernel_log_) return ids;
  for (const probes::Rule& rule : rules_->rules) {
    const probes::SignSpec* sign = rules_->FindSign(rule.sign);
    if (sign != nullptr && sign->kernel) ids.push_back(rule.id);
  }
  return ids;
}

std::vector<std::string> SignWatch::Warnings() const {
  std::vector<std::string> warnings;
  if (const auto ids = WithoutKernelLog(); !ids.empty()) {
    warnings.push_back(fmt::format(
        "the kernel's log is not read, which {} of the table look at: start it with --kernel-log "
        "/dev/kmsg",
        Counted(ids.size(), "rule")));
  }
  const std::vector<std::string> devices = LookedAt();
  if (devices.empty()) return warnings;
  for (const probes::UnshownSign& sign : shown_.Unshown()) {
    warnings.push_back(probes::UnshownText(sign, "of the driver"));
  }
  const std::vector<std::string> without = shown_.WithoutExtended(devices);
  if (without.empty()) return warnings;
  const bool all = without.size() == devices.size();
  warnings.push_back(ExtendedText(without, all, rules_->extends));
  return warnings;
}

void SignWatch::WarnOfKernelLog() {
  const std::vector<std::string> ids = WithoutKernelLog();
  if (ids.empty() || std::exchange(warned_of_kernel_log_, true)) return;
  edges_.log.Warning("rules look at the kernel's log, which is not read",
                     {{"rules", SomeOf(ids)}, {"advice", "start it with --kernel-log /dev/kmsg"}});
}

void SignWatch::Warn() {
  const std::vector<std::string> devices = LookedAt();
  const std::vector<probes::UnshownSign> unshown = shown_.Unshown();
  for (const probes::UnshownSign& sign : unshown) {
    if (devices.empty() || !warned_signs_.insert(sign.sign).second) continue;
    const std::string& first = devices_.find(devices.front())->second.place;
    const std::string where =
        devices.size() == 1 ? first : fmt::format("{} and {} more", first, devices.size() - 1);
    edges_.log.Warning("no device shows a sign that rules look at: they find nothing",
                       {{"sign", sign.sign},
                        {"rules", sign.rules},
                        {"looked_for", sign.looked_for},
                        {"below", where}});
  }
  WarnOfExtended(devices);
  complete_ = devices.size() == devices_.size() && unshown.empty() &&
              shown_.WithoutExtended(devices).empty();
  std::optional<Time> next;
  for (const auto& [name, device] : devices_) {
    if (!device.read || *device.read + kLooksTake <= edges_.loop.Now()) continue;
    next = next ? std::min(*next, *device.read) : *device.read;
  }
  timer_.Cancel();
  if (next) timer_ = edges_.loop.At(*next + kLooksTake + kTogether, [this] { Warn(); });
}

void SignWatch::WarnOfExtended(const std::vector<std::string>& devices) {
  const std::vector<std::string> without = shown_.WithoutExtended(devices);
  std::vector<std::string> fresh;
  for (const std::string& name : without) {
    if (warned_devices_.insert(name).second) fresh.push_back(name);
  }
  if (fresh.empty()) return;
  edges_.log.Warning(without.size() == devices.size()
                         ? "no device shows any sign that the built-in table reads from files"
                         : "some devices show no sign that the built-in table reads from files",
                     {{"table", rules_->extends}, {"devices", SomeOf(fresh)}});
}

}  // namespace galen::device_driver
