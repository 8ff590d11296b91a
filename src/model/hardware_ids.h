// The names by which a piece of hardware is recognized: a vendor's driver, the kernel and NVML each
// name the same GPU in their own way. Values; no owner, no thread.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace galen {

// Each "" when it is not known. As programs report them; nobody verifies them.
struct HardwareIds {
  std::string uuid;         // "GPU-5f3c…"
  std::string pci_address;  // as NormalPciAddress gives it: "0000:4b:00.0"
  std::string serial;
  std::string parent_uuid;  // of the whole device, when this is a partition (MIG)
  std::string type;         // as its driver calls what it offers: "gpu", "mig", "vfio"

  bool empty() const { return uuid.empty() && pci_address.empty() && serial.empty(); }
  auto operator<=>(const HardwareIds&) const = default;
};

// Domain, bus, device and function as the kernel writes them: in lower case, with a domain of four
// digits. NVML writes eight digits and capitals, others leave the domain out. "" for anything else.
// Pure.
std::string NormalPciAddress(std::string_view text);

}  // namespace galen
