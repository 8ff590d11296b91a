// Which lines of the kernel's log speak of a device's fault, and what they say. Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "probes/kernel_record.h"

namespace galen::probes {

// A fault as a line tells it: which sign, of which PCI device, with what value.
struct KernelFault {
  std::string sign{};         // "xid"
  std::string pci_address{};  // "0000:4b:00", without the function; "" when no device is named
  double value = 1;           // the number of an XID or SXID
  std::string raw{};          // "kernel log: Xid 79 on 0000:4b:00"

  bool operator==(const KernelFault&) const = default;
};

// The faults that a record tells of; mostly none. XID 154 tells two: itself and what it asks for.
std::vector<KernelFault> FaultsIn(const KernelRecord& record);

// "PCI:0000:4b:00" or "0000:4B:00.0" → "0000:4b:00"; "" when the text starts with no address.
std::string PciSlot(std::string_view text);

}  // namespace galen::probes
