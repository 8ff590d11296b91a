// Which lines of the kernel's log report a device's fault, and which: NVIDIA's XID and SXID, PCIe's
// AER, machine checks and a GPU that fell off its bus. Pure. A line that only looks like one costs
// a device its health, so only what the kernel itself and root have written is looked at, and of
// that nothing that a program can choose: its name, its file's name, its messages.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "probes/kernel_log/kernel_record.h"

namespace galen::probes {

// A fault in a line: which sign, of which PCI device, with what value.
struct KernelFault {
  std::string sign{};         // "xid"
  std::string pci_address{};  // "0000:4b:00", without the function; "" when no device is named
  double value = 1;           // the number of an XID or SXID
  std::string raw{};          // "kernel log: Xid 79 on 0000:4b:00"

  bool operator==(const KernelFault&) const = default;
};

// The faults in a record; mostly none. XID 154 gives two: itself and what it asks for. A record of
// another facility than the kernel's and root's gives none, whatever its text. A PCIe error counts
// only where the record's properties (SUBSYSTEM=pci, DEVICE=+pci:…, written by the kernel's
// dev_printk) name the device that its text names; root's lines have none.
std::vector<KernelFault> FaultsIn(const KernelRecord& record);

// "PCI:0000:4b:00" or "0000:4B:00.0" → "0000:4b:00"; "" when the text starts with no address.
// Drivers name the slot with or without the function, so slots are compared without.
std::string PciSlot(std::string_view text);

}  // namespace galen::probes
