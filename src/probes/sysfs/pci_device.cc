#include "probes/sysfs/pci_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace galen::probes {
namespace {

// Whether the text has this shape: 'x' is a hexadecimal digit, all else stands for itself.
bool HasShape(std::string_view text, std::string_view shape) {
  return std::ranges::equal(text, shape, [](char c, char as) {
    return as == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == as;
  });
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// "0x10de\n" → "10de"; "" when it is no such number.
std::string ReadHex(const SysfsFiles& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok() || !text->starts_with("0x")) return "";
  const std::string digits = text->substr(2, text->find('\n') - 2);
  const bool hex = std::ranges::all_of(
      digits, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  return hex ? LowerCase(digits) : "";
}

// The kernel writes -1 where there is none.
std::optional<std::int64_t> ReadNumaNode(const SysfsFiles& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  return text.ok() ? LeadingNumber(*text) : std::nullopt;
}

// The root complex in a path like "/sys/devices/pci0000:4a/0000:4a:01.0/0000:4b:00.0", as
// Kubernetes' attribute pcieRoot has it: "pci<domain>:<bus>".
std::string RootOf(std::string_view path) {
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    if (HasShape(segment, "pcixxxx:xx")) return std::string(segment);
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
  }
  return "";
}

PciDevice Describe(const SysfsFiles& files, const std::string& directory, std::string address) {
  std::string real_path = files.Resolve(directory);
  return {.address = std::move(address),
          .vendor = ReadHex(files, directory + "/vendor"),
          .device = ReadHex(files, directory + "/device"),
          .class_code = ReadHex(files, directory + "/class"),
          .pcie_root = RootOf(real_path),
          .real_path = std::move(real_path),
          .numa_node = ReadNumaNode(files, directory + "/numa_node")};
}

}  // namespace

bool PciSelection::Means(const PciDevice& pci) const {
  if (!address.empty()) return pci.address == address;
  if (!class_prefix.empty()) return pci.class_code.starts_with(class_prefix);
  return pci.vendor == vendor && (device.empty() || pci.device == device);
}

StatusOr<PciSelection> ParsePciSelection(std::string_view text) {
  constexpr std::string_view kClass = "class:";
  const std::string lower = LowerCase(text);
  if (HasShape(lower, "xxxx")) return PciSelection{.vendor = lower};
  if (HasShape(lower, "xxxx:xxxx")) {
    return PciSelection{.vendor = lower.substr(0, 4), .device = lower.substr(5)};
  }
  if (HasShape(lower, "xxxx:xx:xx.x")) return PciSelection{.address = lower};
  if (HasShape(lower, "xx:xx.x")) return PciSelection{.address = "0000:" + lower};
  if (lower.starts_with(kClass)) {
    const std::string code = lower.substr(kClass.size());
    for (const std::string_view shape : {"xx", "xxxx", "xxxxxx"}) {
      if (HasShape(code, shape)) return PciSelection{.class_prefix = code};
    }
  }
  return InvalidArgument(
      "'{}' is not a vendor (10de), model (10de:2330), class (class:0302) or address "
      "(0000:4b:00.0)",
      text);
}

StatusOr<std::vector<PciDevice>> FindPciDevices(const SysfsFiles& files, const std::string& root,
                                                const std::vector<PciSelection>& selections) {
  const std::string bus = root + "/bus/pci/devices";
  ASSIGN_OR_RETURN(const std::vector<std::string> addresses, files.List(bus));
  std::vector<PciDevice> devices;
  for (const std::string& address : addresses) {
    PciDevice device = Describe(files, bus + "/" + address, address);
    if (device.vendor.empty() || device.device.empty()) continue;
    const bool meant = std::ranges::any_of(
        selections, [&](const PciSelection& selection) { return selection.Means(device); });
    if (meant) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace galen::probes
