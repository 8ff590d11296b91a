#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {
namespace {

// How the kernel and NVIDIA's drivers begin their lines. A program chooses its file's name and up
// to 15 bytes of its process's name, and the kernel prints both when it crashes: nothing is
// searched for in the middle of a line, and no form is recognised by its first 15 bytes alone.
constexpr std::string_view kXid = "NVRM: Xid (";
constexpr std::string_view kSwitch = "nvidia-nvswitch";
constexpr std::string_view kSxid = ": SXid (";
constexpr std::string_view kLostGpu = "NVRM: GPU ";
constexpr std::string_view kLostGpuRest = ": GPU has fallen off the bus";
constexpr std::string_view kLostGpuAtStart = "NVRM: The NVIDIA GPU ";
constexpr std::string_view kLostGpuAtStartRest = "fallen off the bus";
constexpr std::string_view kBusError = "PCIe Bus Error: severity=";
constexpr std::string_view kHardwareError = "[Hardware Error]: ";

KernelFault MakeFault(std::string_view sign, std::string slot, std::int64_t value,
                      std::string_view said) {
  KernelFault fault;
  fault.sign = sign;
  fault.value = static_cast<double>(value);
  fault.raw = slot.empty() ? fmt::format("kernel log: {}", said)
                           : fmt::format("kernel log: {} on {}", said, slot);
  fault.pci_address = std::move(slot);
  return fault;
}

// A MIG instance, behind the slot: " GPU-I:05 GPU-CI:00" is "5/0", " GPU-I:05" "5"; "" for none.
std::string MigPart(std::string_view text) {
  constexpr std::string_view kGpu = " GPU-I:", kCompute = " GPU-CI:";
  const std::size_t gpu = text.find(kGpu);
  if (gpu == std::string_view::npos) return "";
  text.remove_prefix(gpu + kGpu.size());
  const std::optional<std::int64_t> instance = LeadingNumber(text);
  if (!instance) return "";
  const std::size_t compute = text.find(kCompute);
  std::optional<std::int64_t> within;
  if (compute != std::string_view::npos) {
    within = LeadingNumber(text.substr(compute + kCompute.size()));
  }
  return within ? fmt::format("{}/{}", *instance, *within) : fmt::format("{}", *instance);
}

// "(PCI:0000:4b:00): 79, …" behind "Xid " or "SXid ".
struct Numbered {
  std::string slot;
  std::int64_t number = 0;
  std::string_view rest;
  std::string part;
};
std::optional<Numbered> ParseNumbered(std::string_view text) {
  const std::size_t close = text.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  Numbered parsed{PciSlot(text), 0, text.substr(close + 3), MigPart(text.substr(0, close))};
  const std::optional<std::int64_t> number = LeadingNumber(parsed.rest);
  if (parsed.slot.empty() || !number) return std::nullopt;
  parsed.number = *number;
  return parsed;
}

// XID 154: "… changed from 0x0 (None) to 0x1 (GPU Reset Required)".
std::optional<std::int64_t> RecoveryAction(std::string_view rest) {
  const std::size_t to = rest.rfind(" to 0x");
  return to == std::string_view::npos ? std::nullopt : LeadingNumber(rest.substr(to + 6), 16);
}

// For most XIDs the number decides alone. Those of NVLink say more in registers; where these are
// not clear, those of NVLink 5 still give their severity as text, and most are not severe. It is
// read behind the last comma: before it may be a process's name, which holds what the process
// chose.
std::string_view SignOfXid(std::int64_t number, std::string_view rest) {
  switch (DecodeNvlinkXid(number, rest)) {
    case NvlinkFault::kHardware:
      return "nvlink-hardware";
    case NvlinkFault::kLink:
      return "nvlink-link";
    case NvlinkFault::kProgram:
      return "nvlink-program";
    case NvlinkFault::kIgnored:
      return "nvlink-ignored";
    case NvlinkFault::kUnclear:
      break;
  }
  const bool nvlink5 = number >= 144 && number <= 150;
  const std::string_view last = rest.substr(rest.rfind(", ") + 1);
  const bool nonfatal = nvlink5 && last.find(" Nonfatal ") != std::string_view::npos;
  return nonfatal ? "xid-nonfatal" : "xid";
}

void AddXid(std::string_view text, std::vector<KernelFault>& faults) {
  // "GPU recovery action changed": the number behind " to 0x" is what the driver asks for.
  constexpr std::int64_t kRecoveryActionXid = 154;
  const std::optional<Numbered> xid = ParseNumbered(text.substr(kXid.size()));
  if (!xid) return;
  faults.push_back(MakeFault(SignOfXid(xid->number, xid->rest), xid->slot, xid->number,
                             fmt::format("Xid {}", xid->number)));
  faults.back().part = xid->part;
  if (const std::optional<int> link = LinkOfNvlinkXid(xid->number, xid->rest)) {
    faults.back().detail = fmt::format("link {}", *link);
  }
  if (xid->number != kRecoveryActionXid) return;
  if (const std::optional<std::int64_t> action = RecoveryAction(xid->rest)) {
    faults.push_back(MakeFault("recovery-action", xid->slot, *action,
                               fmt::format("Xid 154 asks for action {}", *action)));
  }
}

// "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, …".
void AddSxid(std::string_view text, std::vector<KernelFault>& faults) {
  const std::size_t digits_end = text.find_first_not_of("0123456789", kSwitch.size());
  if (digits_end == std::string_view::npos || digits_end == kSwitch.size()) return;
  text.remove_prefix(digits_end);
  if (!text.starts_with(kSxid)) return;
  if (const std::optional<Numbered> sxid = ParseNumbered(text.substr(kSxid.size()))) {
    faults.push_back(
        MakeFault("sxid", sxid->slot, sxid->number, fmt::format("SXid {}", sxid->number)));
  }
}

// "NVRM: GPU 0000:4b:00.0: GPU has fallen off the bus." while it is in use; when a driver starts,
// "NVRM: The NVIDIA GPU 0000:4b:00.0" and, behind line ends within the same record, "NVRM: (PCI ID:
// …) installed in this system has" and "NVRM: fallen off the bus and is not responding …".
void AddLostGpu(std::string_view text, std::vector<KernelFault>& faults) {
  const bool at_start = text.starts_with(kLostGpuAtStart);
  text.remove_prefix(at_start ? kLostGpuAtStart.size() : kLostGpu.size());
  std::string slot = PciSlot(text);
  if (slot.empty()) return;
  const std::string_view rest = at_start ? kLostGpuAtStartRest : kLostGpuRest;
  if (text.find(rest) == std::string_view::npos) return;
  faults.push_back(MakeFault("gpu-lost", std::move(slot), 1, "GPU has fallen off the bus"));
}

// "nvidia 0000:4b:00.0: PCIe Bus Error: severity=…", with "AER: " before it on newer kernels.
// Before and after 6.4 they also name the severity differently: Corrected and Correctable,
// Uncorrected (Non-Fatal) and Uncorrectable (Non-Fatal).
void AddBusError(const KernelRecord& record, std::vector<KernelFault>& faults) {
  const std::string address = AddressOfRecord(record);
  const std::string slot = PciSlot(address);
  std::string_view text = record.text;
  // The driver's name and the address.
  text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  if (slot.empty() || PciSlot(text) != slot) return;
  const std::size_t name_end = text.find(": ");
  if (name_end == std::string_view::npos) return;
  text.remove_prefix(name_end + 2);
  if (text.starts_with("AER: ")) text.remove_prefix(5);
  if (!text.starts_with(kBusError)) return;
  text.remove_prefix(kBusError.size());
  if (text.starts_with("Correct")) {
    faults.push_back(MakeFault("aer-corrected", slot, 1, "corrected PCIe error"));
  } else if (text.starts_with("Uncorrect") && text.find("(Fatal)") != std::string_view::npos) {
    faults.push_back(MakeFault("aer-fatal", slot, 1, "fatal PCIe error"));
  } else if (text.starts_with("Uncorrect")) {
    faults.push_back(MakeFault("aer-nonfatal", slot, 1, "uncorrected PCIe error"));
  } else {
    return;
  }
  faults.back().pci_function = address;
}

// "mce: [Hardware Error]: CPU 1: …", "[Hardware Error]: …" of a decoder, "{1}[Hardware Error]: …"
// of the firmware's reports.
bool IsHardwareError(std::string_view text) {
  if (text.starts_with("mce: ")) {
    text.remove_prefix(5);
  } else if (text.starts_with('{')) {
    const std::size_t end = text.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos || text[end] != '}') return false;
    text.remove_prefix(end + 1);
  }
  return text.starts_with(kHardwareError);
}

}  // namespace

std::string PciSlot(std::string_view text) {
  if (text.starts_with("PCI:")) text.remove_prefix(4);
  constexpr std::string_view kShape = "dddd:bb:ss";
  if (text.size() < kShape.size()) return "";
  std::string slot;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (kShape[i] == ':' ? c != ':' : std::isxdigit(c) == 0) return "";
    slot += static_cast<char>(std::tolower(c));
  }
  return slot;
}

std::string AddressOfRecord(const KernelRecord& record) {
  const auto subsystem = record.properties.find("SUBSYSTEM");
  const auto device = record.properties.find("DEVICE");
  if (subsystem == record.properties.end() || subsystem->second != "pci") return "";
  if (device == record.properties.end() || !device->second.starts_with("+pci:")) return "";
  const std::string_view address = std::string_view(device->second).substr(5);
  const std::string slot = PciSlot(address);
  const std::string_view function = address.substr(std::min(slot.size(), address.size()));
  // A dot and one digit, up to 7.
  const bool whole =
      function.size() == 2 && function[0] == '.' && function[1] >= '0' && function[1] <= '7';
  return slot.empty() || !whole ? "" : slot + std::string(function);
}

std::vector<KernelFault> FaultsIn(const KernelRecord& record) {
  std::vector<KernelFault> faults;
  // Daemons log under other facilities and may quote a fault; root's own lines count as real.
  if (record.facility != kFacilityKernel && record.facility != kFacilityUser) return faults;
  const std::string_view text = record.text;
  if (text.starts_with(kXid)) {
    AddXid(text, faults);
  } else if (text.starts_with(kSwitch)) {
    AddSxid(text, faults);
  } else if (text.starts_with(kLostGpu) || text.starts_with(kLostGpuAtStart)) {
    AddLostGpu(text, faults);
  } else if (IsHardwareError(text)) {
    // The address in such a line is memory's or a processor's, never a device's: it concerns all.
    faults.push_back(MakeFault("machine-check", "", 1, "hardware error of the host"));
  } else {
    AddBusError(record, faults);
  }
  return faults;
}

}  // namespace galen::probes
