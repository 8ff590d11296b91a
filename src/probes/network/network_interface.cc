#include "probes/network/network_interface.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/text.h"
#include "probes/device_name.h"

namespace galen::probes {
namespace {

constexpr std::uint64_t kFlagUp = 0x1;  // IFF_UP, as sysfs writes it

struct CounterFile {
  std::string_view sign;
  std::string_view file;
};
// Signs of rules/nic.yaml and the files below /sys/class/net/<interface>/ that they are read from.
constexpr CounterFile kCounters[] = {
    {"carrier-changes", "carrier_changes"},
    {"rx-errors", "statistics/rx_errors"},
    {"rx-crc-errors", "statistics/rx_crc_errors"},
    {"tx-errors", "statistics/tx_errors"},
};

// "10000", "-1", "0x1003".
std::optional<std::int64_t> ParseInteger(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The value of a "KEY=value" line.
std::string ValueIn(std::string_view lines, std::string_view key) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() < lines.size() ? line.size() + 1 : lines.size());
    if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) {
      return Printable(ToValidUtf8(line.substr(key.size() + 1)));
    }
  }
  return "";
}

void SetNumber(Sign& sign, const StatusOr<std::string>& text) {
  if (!text.ok()) {
    sign.error = text.status().message();
  } else if (const std::optional<std::int64_t> number = ParseInteger(*text)) {
    sign.value = static_cast<double>(*number);
  } else {
    sign.error = fmt::format("'{}' is not a number", Printable(CutText(ToValidUtf8(*text), 40)));
  }
}

}  // namespace

bool NetworkProbe::Wanted(const std::string& interface) const {
  // Always there, never faulty, nobody's device.
  if (interface == "lo") return false;
  return std::any_of(options_.patterns.begin(), options_.patterns.end(),
                     [&interface](const std::string& pattern) {
                       return ::fnmatch(pattern.c_str(), interface.c_str(), FNM_NOESCAPE) == 0;
                     });
}

StatusOr<std::string> NetworkProbe::ReadFile(const std::string& interface, std::string_view file) {
  ASSIGN_OR_RETURN(
      std::string text,
      files_.Read(fmt::format("{}/class/net/{}/{}", options_.sysfs_root, interface, file)));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

NetworkInterface NetworkProbe::Describe(const std::string& interface) {
  NetworkInterface nic{.device = DeviceNameOf(interface), .interface = interface};
  // Nothing here is required: a veth has no hardware, and a tunnel no address. An address may be
  // set at any time, and in a bond cards show the bond's: the one that a card was made with goes
  // before.
  std::string now;
  for (const std::string_view file : {"address", "bonding_slave/perm_hwaddr"}) {
    const auto address = ReadFile(interface, file);
    if (address.ok()) nic.address = Printable(ToValidUtf8(*address));
    if (now.empty()) now = nic.address;
  }
  if (options_.permanent_address != nullptr) {
    const std::string permanent = options_.permanent_address(interface, now);
    if (!permanent.empty()) nic.address = permanent;
  }
  if (const auto uevent = ReadFile(interface, "device/uevent"); uevent.ok()) {
    nic.pci_address = ValueIn(*uevent, "PCI_SLOT_NAME");
    nic.driver = ValueIn(*uevent, "DRIVER");
  }
  return nic;
}

StatusOr<std::vector<NetworkInterface>> NetworkProbe::Discover() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   files_.List(options_.sysfs_root + "/class/net"));
  std::set<std::string> taken;
  for (const auto& [interface, nic] : interfaces_) taken.insert(nic.device);
  for (const std::string& name : names) {
    if (absent_.contains(name) && ReadFile(name, "flags").ok()) {
      // The name came back; the card behind it may be another one.
      absent_.erase(name);
      interfaces_[name] = Describe(name);
    }
    if (!Wanted(name) || interfaces_.contains(name)) continue;
    if (interfaces_.size() >= kInterfacesMax && !ForgetAnAbsentOne(taken)) break;
    NetworkInterface nic = Describe(name);
    // Two interfaces whose names differ only in marks: the first one has the name.
    if (nic.device.empty() || !taken.insert(nic.device).second) continue;
    interfaces_.emplace(name, std::move(nic));
  }
  std::vector<NetworkInterface> all;
  for (const auto& [interface, nic] : interfaces_) all.push_back(nic);
  return all;
}

bool NetworkProbe::ForgetAnAbsentOne(std::set<std::string>& taken) {
  if (absent_.empty()) return false;
  const auto gone = interfaces_.find(*absent_.begin());
  taken.erase(gone->second.device);
  interfaces_.erase(gone);
  absent_.erase(absent_.begin());
  return true;
}

StatusOr<std::vector<Sign>> NetworkProbe::Observe() {
  RETURN_IF_ERROR(Discover().status());
  std::vector<Sign> signs;
  for (const auto& [interface, nic] : interfaces_) ObserveInto(nic, signs);
  return signs;
}

std::vector<Sign> NetworkProbe::ObserveSome(const std::vector<std::string>& interfaces) {
  std::vector<Sign> signs;
  for (const std::string& name : std::set<std::string>(interfaces.begin(), interfaces.end())) {
    const auto nic = interfaces_.find(name);
    if (nic != interfaces_.end()) ObserveInto(nic->second, signs);
  }
  return signs;
}

Sign NetworkProbe::MakeSign(const NetworkInterface& nic, std::string_view name) const {
  Sign sign;
  sign.device = nic.device;
  sign.name = name;
  sign.time = loop_.WallNow();
  return sign;
}

void NetworkProbe::ObserveInto(const NetworkInterface& nic, std::vector<Sign>& signs) {
  // Every interface has flags, so a file that is missing means an interface that is.
  const StatusOr<std::string> flags = ReadFile(nic.interface, "flags");
  const bool gone = flags.status().code() == Code::kNotFound;
  // Back since Discover looked.
  if (!gone && IsAbsent(nic.interface)) return;
  Sign present = MakeSign(nic, "present");
  present.value = gone ? 0.0 : 1.0;
  if (gone) present.raw = fmt::format("sysfs: no interface {}", nic.interface);
  signs.push_back(std::move(present));
  if (gone) {
    absent_.insert(nic.interface);
    return;
  }
  Sign admin = MakeSign(nic, "admin-up");
  SetNumber(admin, flags);
  if (admin.error.empty()) {
    const auto bits = static_cast<std::uint64_t>(std::get<double>(admin.value));
    admin.value = (bits & kFlagUp) != 0 ? 1.0 : 0.0;
  }
  const bool up = admin.error.empty() && std::get<double>(admin.value) == 1.0;
  signs.push_back(std::move(admin));
  // The kernel does not say whether there is a carrier on an interface that is off.
  if (up) ReadCarrier(nic, signs);
  for (const CounterFile& counter : kCounters) {
    Sign sign = MakeSign(nic, counter.sign);
    SetNumber(sign, ReadFile(nic.interface, counter.file));
    signs.push_back(std::move(sign));
  }
}

void NetworkProbe::ReadCarrier(const NetworkInterface& nic, std::vector<Sign>& signs) {
  Sign carrier = MakeSign(nic, "carrier");
  SetNumber(carrier, ReadFile(nic.interface, "carrier"));
  const bool has_carrier = carrier.error.empty() && std::get<double>(carrier.value) != 0;
  if (carrier.error.empty() && !has_carrier) {
    const StatusOr<std::string> state = ReadFile(nic.interface, "operstate");
    carrier.raw = fmt::format("sysfs: {} has no carrier, operstate {}", nic.interface,
                              state.ok() ? Printable(ToValidUtf8(*state)) : "unreadable");
  }
  signs.push_back(std::move(carrier));
  if (has_carrier) ReadSpeed(nic, signs);
}

void NetworkProbe::ReadSpeed(const NetworkInterface& nic, std::vector<Sign>& signs) {
  // Virtual cards have no speed: they refuse to be read, or say -1. That is not a fault.
  const StatusOr<std::string> text = ReadFile(nic.interface, "speed");
  const std::optional<std::int64_t> speed = text.ok() ? ParseInteger(*text) : std::nullopt;
  if (!speed || *speed <= 0) return;
  Sign sign = MakeSign(nic, "speed");
  sign.value = static_cast<double>(*speed);
  sign.unit = "Mb/s";
  signs.push_back(std::move(sign));
}

}  // namespace galen::probes
