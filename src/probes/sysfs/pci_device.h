// The PCI devices of this machine, and which of them a person means. Pure but for the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// The lasting facts of a PCI device. Numbers as the kernel writes them, without "0x".
struct PciDevice {
  std::string address{};     // "0000:4b:00.0"
  std::string vendor{};      // "10de"
  std::string device{};      // "2330"
  std::string class_code{};  // "030200": class, subclass, interface
  std::string pcie_root{};   // "pci0000:4a"; "" when it hangs below none
  std::string real_path{};   // of its directory, without links; "" where it has just left
  std::optional<std::int64_t> numa_node{};

  bool operator==(const PciDevice&) const = default;
};

// Which devices: all of one vendor ("10de"), of one model ("10de:2330"), of a class ("class:03",
// "class:0302") or one by its address ("0000:4b:00.0", "4b:00.0").
struct PciSelection {
  std::string vendor{}, device{}, class_prefix{}, address{};

  bool Means(const PciDevice& device) const;
  bool operator==(const PciSelection&) const = default;
};

// InvalidArgument says which forms there are.
StatusOr<PciSelection> ParsePciSelection(std::string_view text);

// The devices below `root` (bus/pci/devices) that one of the selections means, by address. One
// whose numbers cannot be read is left out. NotFound when there is no PCI bus.
StatusOr<std::vector<PciDevice>> FindPciDevices(const SysfsFiles& files, const std::string& root,
                                                const std::vector<PciSelection>& selections);

}  // namespace galen::probes
