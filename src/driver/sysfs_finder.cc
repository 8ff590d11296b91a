// Tested by sysfs_hardware_test.cc.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "driver/sysfs_hardware.h"
#include "probes/device_name.h"
#include "probes/sysfs/file_pattern.h"
#include "probes/sysfs/pci_device.h"

namespace galen::device_driver {
namespace {

// `top` and `real` are where the root and the device's directory really are.
std::string KernelPath(const std::string& top, const std::string& real) {
  const bool below = !top.empty() && real.starts_with(top + "/");
  return below ? real.substr(top.size()) : "";
}

// With those of Kubernetes' standard attributes (dra-standard-device-attributes) that the kernel
// knows.
FoundDevice OfferPci(const probes::PciDevice& pci, const std::string& top) {
  FoundDevice found;
  found.path = "bus/pci/devices/" + pci.address;
  found.kernel_path = KernelPath(top, pci.real_path);
  found.pci_address = pci.address;
  found.device.name = probes::DeviceNameOf(pci.address);
  found.device.attributes = {{"vendor", pci.vendor},
                             {"device", pci.device},
                             {"class", pci.class_code},
                             // People distinguish cards in a table by it.
                             {"model", pci.vendor + ":" + pci.device},
                             {"resource.kubernetes.io/pciBusID", pci.address}};
  if (!pci.pcie_root.empty()) {
    found.device.attributes["resource.kubernetes.io/pcieRoot"] = pci.pcie_root;
  }
  if (pci.numa_node) found.device.attributes["resource.kubernetes.io/numaNode"] = *pci.numa_node;
  found.variable = "PCI";
  found.value = pci.address;
  return found;
}

// The names of a device in the kernel log: "class/nvme/nvme0" is nvme0 there.
std::vector<std::string> KernelNames(std::string_view path) {
  constexpr std::string_view kNvme = "class/nvme/";
  if (!path.starts_with(kNvme) || path.find('/', kNvme.size()) != std::string_view::npos) return {};
  return {fmt::format("nvme:{}", path.substr(kNvme.size()))};
}

FoundDevice OfferPath(const std::string& pattern, const std::string& path) {
  constexpr std::size_t kAttributeBytesMax = 64;  // Kubernetes' limit
  FoundDevice found;
  found.path = path;
  found.device.name = probes::DeviceNameOf(probes::StarredName(pattern, path));
  if (path.size() <= kAttributeBytesMax) found.device.attributes["path"] = path;
  found.kernel_names = KernelNames(path);
  found.variable = "SYSFS";
  found.value = path;
  return found;
}

StatusOr<std::vector<FoundDevice>> CheckFound(std::vector<FoundDevice> found) {
  if (found.size() > probes::SysfsProbe::kDevicesMax) {
    return FailedPrecondition(
        "{} devices match, at most {} are looked at: select fewer by --pattern or --select",
        found.size(), probes::SysfsProbe::kDevicesMax);
  }
  std::set<std::string> names;
  for (const FoundDevice& each : found) {
    if (each.device.name.empty()) {
      return FailedPrecondition("{} gives no name for a device", each.path);
    }
    if (!names.insert(each.device.name).second) {
      return FailedPrecondition("two devices would be named {}: {} is one of them",
                                each.device.name, each.path);
    }
  }
  return found;
}

}  // namespace

DeviceFinder PciFinder(const probes::SysfsFiles& files, std::string root,
                       std::vector<probes::PciSelection> selections) {
  return [&files, root = std::move(root),
          selections = std::move(selections)]() -> StatusOr<std::vector<FoundDevice>> {
    ASSIGN_OR_RETURN(const auto devices, probes::FindPciDevices(files, root, selections));
    const std::string top = files.Resolve(root);
    std::vector<FoundDevice> found;
    for (const probes::PciDevice& pci : devices) {
      found.push_back(OfferPci(pci, top));
      // The drives of an NVMe controller; of other devices there is no such directory.
      const auto drives = files.List(fmt::format("{}/{}/nvme", root, found.back().path));
      if (!drives.ok()) continue;
      for (const std::string& drive : *drives) found.back().kernel_names.push_back("nvme:" + drive);
    }
    return CheckFound(std::move(found));
  };
}

DeviceFinder PatternFinder(const probes::SysfsFiles& files, std::string root,
                           std::vector<std::string> patterns) {
  return [&files, root = std::move(root),
          patterns = std::move(patterns)]() -> StatusOr<std::vector<FoundDevice>> {
    const std::string top = files.Resolve(root);
    std::vector<FoundDevice> found;
    for (const std::string& pattern : patterns) {
      ASSIGN_OR_RETURN(const auto paths, probes::FindPaths(files, root, pattern));
      for (const probes::FoundPath& path : paths) {
        // A file, or a name that is gone, is no device.
        if (!files.IsDirectory(root + "/" + path.path)) continue;
        found.push_back(OfferPath(pattern, path.path));
        found.back().kernel_path = KernelPath(top, files.Resolve(root + "/" + path.path));
      }
    }
    return CheckFound(std::move(found));
  };
}

}  // namespace galen::device_driver
