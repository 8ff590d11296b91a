// By what a piece of hardware is found again where somebody else has named it: of one GPU, a
// vendor's driver, the kernel and NVML each have a name of their own. Values; no owner, no thread.
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
  std::string parent_uuid;  // of the whole device that this is a partition of, such as a MIG one
  std::string type;         // as its driver calls what it offers: "gpu", "mig", "vfio"

  bool empty() const { return uuid.empty() && pci_address.empty() && serial.empty(); }
  auto operator<=>(const HardwareIds&) const = default;
};

// Domain, bus, device and function as the kernel writes them: in lower case, with a domain of four
// digits. NVML writes eight digits and capitals, others leave the domain out. "" for what is no
// PCI address. Pure.
std::string NormalPciAddress(std::string_view text);

}  // namespace galen
