#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/text.h"
#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {
namespace {

// A line of a driver's, as dev_printk writes it: "nvme nvme0: controller is down".
struct DriverLine {
  std::string_view driver, device, rest;
};

std::optional<DriverLine> SplitLine(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::size_t colon = text.find(": ", space);
  if (colon == std::string_view::npos) return std::nullopt;
  return DriverLine{text.substr(0, space), text.substr(space + 1, colon - space - 1),
                    text.substr(colon + 2)};
}

// Whether the record's properties prove that the line is of the device that its text names. For a
// device with a file in /dev, DEVICE is that file's number (c241:0), and only the text has the
// name; but the text of a record with properties begins as dev_printk writes it.
bool IsProven(const KernelRecord& record, const DriverLine& line, std::string_view subsystem) {
  if (subsystem == "pci") return AddressOfRecord(record) == line.device;
  const auto named = record.properties.find("SUBSYSTEM");
  return named != record.properties.end() && named->second == subsystem &&
         record.properties.contains("DEVICE");
}

double ValueOf(const Pattern& pattern, std::string_view found) {
  double number = 0;
  if (pattern.groups() == 0) return 1;
  const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), number);
  return error == std::errc() && end == found.data() + found.size() ? number : 1;
}

}  // namespace

std::vector<KernelFault> FaultsBySigns(const KernelRecord& record,
                                       const std::vector<SignSpec>& signs) {
  std::vector<KernelFault> faults;
  // A process that writes into /dev/kmsg cannot add properties.
  if (record.facility != kFacilityKernel || record.properties.empty()) return faults;
  const std::optional<DriverLine> line = SplitLine(record.text);
  if (!line) return faults;
  for (const SignSpec& sign : signs) {
    if (!sign.kernel || sign.kernel->driver != line->driver) continue;
    const KernelSource& source = *sign.kernel;
    if (!source.line.pattern || !IsProven(record, *line, source.subsystem)) continue;
    const Pattern::Found found = source.line.pattern->FindAtBegin(line->rest);
    if (!found.matches) continue;
    KernelFault fault;
    fault.sign = sign.name;
    fault.value = ValueOf(*source.line.pattern, found.text);
    constexpr std::size_t kRawBytesMax = 160;  // people read it in one line
    fault.raw = fmt::format("kernel log: {}", CutText(record.text, kRawBytesMax));
    if (source.subsystem == "pci") {
      fault.pci_address = PciSlot(line->device);
      fault.pci_function = line->device;
    } else {
      fault.kernel_name = fmt::format("{}:{}", source.subsystem, line->device);
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace galen::probes
