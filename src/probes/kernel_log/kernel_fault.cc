#include "probes/kernel_log/kernel_fault.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>

namespace galen::probes {
namespace {

// The kernel's and NVIDIA's own wording; "NVRM: Xid (PCI:0000:4b:00): 79, …".
constexpr std::string_view kXid = "NVRM: Xid (";
constexpr std::string_view kSxid = ": SXid (";
constexpr std::string_view kBusError = "PCIe Bus Error: severity=";
constexpr std::string_view kHardwareError = "[Hardware Error]:";
constexpr std::string_view kOffTheBus = "has fallen off the bus";

std::optional<std::int64_t> LeadingNumber(std::string_view text, int base = 10) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end == text.data() || number < 0) return std::nullopt;
  return number;
}

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

// "(PCI:0000:4b:00): 79, …" behind "Xid " or "SXid ".
struct Numbered {
  std::string slot;
  std::int64_t number = 0;
  std::string_view rest;
};
std::optional<Numbered> ParseNumbered(std::string_view text) {
  const std::size_t close = text.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  Numbered parsed{PciSlot(text), 0, text.substr(close + 3)};
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

void AddXid(std::string_view text, std::vector<KernelFault>& faults) {
  // "GPU recovery action changed": the number behind " to 0x" is what the driver asks for.
  constexpr std::int64_t kRecoveryActionXid = 154;
  const std::optional<Numbered> xid = ParseNumbered(text.substr(kXid.size()));
  if (!xid) return;
  // NVLink5 faults have their severity as text, and most are not severe.
  const bool nvlink5 = xid->number >= 144 && xid->number <= 150;
  const bool nonfatal = nvlink5 && xid->rest.find(" Nonfatal ") != std::string_view::npos;
  faults.push_back(MakeFault(nonfatal ? "xid-nonfatal" : "xid", xid->slot, xid->number,
                             fmt::format("Xid {}", xid->number)));
  if (xid->number != kRecoveryActionXid) return;
  if (const std::optional<std::int64_t> action = RecoveryAction(xid->rest)) {
    faults.push_back(MakeFault("recovery-action", xid->slot, *action,
                               fmt::format("Xid 154 asks for action {}", *action)));
  }
}

// The first address in the text: "nvidia 0000:4b:00.0: …", "GPU 0000:4b:00.0 …".
std::string FirstSlot(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    // In the middle of a longer number no address begins.
    if (i > 0 && std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0) continue;
    if (std::string slot = PciSlot(text.substr(i)); !slot.empty()) return slot;
  }
  return "";
}

// Kernels before and after 6.4 say it differently: Corrected and Correctable, Uncorrected
// (Non-Fatal) and Uncorrectable (Non-Fatal).
void AddBusError(std::string_view text, std::size_t at, std::vector<KernelFault>& faults) {
  const std::string_view severity = text.substr(at + kBusError.size());
  const std::string slot = FirstSlot(text.substr(0, at));
  if (severity.starts_with("Correct")) {
    faults.push_back(MakeFault("aer-corrected", slot, 1, "corrected PCIe error"));
  } else if (severity.starts_with("Uncorrect") &&
             severity.find("(Fatal)") != std::string_view::npos) {
    faults.push_back(MakeFault("aer-fatal", slot, 1, "fatal PCIe error"));
  } else if (severity.starts_with("Uncorrect")) {
    faults.push_back(MakeFault("aer-nonfatal", slot, 1, "uncorrected PCIe error"));
  }
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

std::vector<KernelFault> FaultsIn(const KernelRecord& record) {
  std::vector<KernelFault> faults;
  // Daemons log under other facilities and may quote a fault; root's own lines count as real.
  if (record.facility != kFacilityKernel && record.facility != kFacilityUser) return faults;
  const std::string_view text = record.text;
  if (text.starts_with(kXid)) {
    AddXid(text, faults);
  } else if (const std::size_t sxid = text.find(kSxid);
             text.starts_with("nvidia-nvswitch") && sxid != std::string_view::npos) {
    if (const auto parsed = ParseNumbered(text.substr(sxid + kSxid.size()))) {
      faults.push_back(
          MakeFault("sxid", parsed->slot, parsed->number, fmt::format("SXid {}", parsed->number)));
    }
  } else if (const std::size_t bus = text.find(kBusError); bus != std::string_view::npos) {
    AddBusError(text, bus, faults);
    // The address in such a line is memory's or a processor's, never a device's: it concerns them
    // all.
  } else if (text.find(kHardwareError) != std::string_view::npos) {
    faults.push_back(MakeFault("machine-check", "", 1, "hardware error of the host"));
  } else if (text.starts_with("NVRM: ") && text.find(kOffTheBus) != std::string_view::npos) {
    faults.push_back(MakeFault("gpu-lost", FirstSlot(text), 1, "GPU has fallen off the bus"));
  }
  return faults;
}

}  // namespace galen::probes
