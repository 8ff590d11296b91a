#include "probes/kernel_log/kernel_log.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace galen::probes {
namespace {

constexpr std::string_view kSection = "kernelLog";
// Records that are read before other work of the loop gets its turn.
constexpr int kRecordsAtOnceMax = 1000;
// A machine check is a block of lines; lines this close are one.
constexpr Duration kMachineCheckBlock = std::chrono::seconds(1);
// The kernel's log has a clock of its own, which drifts from ours over days.
constexpr Duration kClockDriftMax = std::chrono::seconds(1);

// Faults that are not one device's alone.
bool ConcernsEveryDevice(const KernelFault& fault) {
  return fault.sign == "sxid" || fault.sign == "machine-check";
}

std::optional<std::uint64_t> SequenceIn(const Json& section) {
  const std::string& text = section["sequence"].AsString();
  std::uint64_t sequence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sequence);
  if (text.empty() || error != std::errc()) return std::nullopt;
  return sequence;
}

Json SectionOf(std::uint64_t sequence) {
  // As text, because JSON's numbers are not exact so far up.
  return Json::MakeObject({{"sequence", fmt::format("{}", sequence)}});
}

}  // namespace

KernelLog::KernelLog(Parts parts, const std::map<std::string, std::string>& device_of_address)
    : parts_(parts) {
  SetDevices(device_of_address);
  parts_.metrics.DeclareCounter("galen_kernel_log_faults_total",
                                "Faults found in the kernel's log, by sign.");
  parts_.metrics.DeclareCounter("galen_kernel_log_lost_records_total",
                                "Records of the kernel's log overwritten before they were read.");
  parts_.metrics.DeclareGauge("galen_kernel_log_readable", "1 while the kernel's log can be read.");
}

void KernelLog::SetDevices(const std::map<std::string, std::string>& device_of_address) {
  device_of_address_.clear();
  device_of_slot_.clear();
  for (const auto& [address, device] : device_of_address) {
    device_of_address_[address] = device;
    if (std::string slot = PciSlot(address); !slot.empty()) {
      device_of_slot_.try_emplace(std::move(slot), device);
    }
  }
}

void KernelLog::Start(Begin begin) {
  dealt_with_ = SequenceIn(parts_.state.Get(kSection));
  // A known place wins over `begin`: nothing between the two processes is lost.
  skipping_ = begin == Begin::kNow && !dealt_with_;
  parts_.metrics.Set("galen_kernel_log_readable", {}, 1);
  parts_.source.OnReadable([this] { ReadMore(); });
  // The first look does not wait for a new line: what the log has is read now.
  parts_.loop.Post([this] { ReadMore(); });
}

void KernelLog::ReadMore() {
  std::vector<Sign> signs;
  bool dealt_with_some = false;
  bool more = true;
  for (int i = 0; more && i < kRecordsAtOnceMax; ++i) {
    const StatusOr<std::optional<std::string>> record = parts_.source.Next();
    if (record.ok() && *record) {
      dealt_with_some |= TakeRecord(**record, signs);
      // After DataLoss the next call goes on; how many were lost shows in the sequence numbers.
    } else if (record.status().code() != Code::kDataLoss) {
      more = false;
      CatchUp();
      if (!record.ok()) {
        parts_.metrics.Set("galen_kernel_log_readable", {}, 0);
        parts_.log.Error("the kernel's log cannot be read any more",
                         {{"error", record.status().message()}});
      }
    }
  }
  if (dealt_with_some) {
    // One write for the place in the log and for what the sink keeps of these signs, so that a
    // crash before it has the next process read them again, by what was found before them. Also for
    // faults that gave no sign, such as those of other devices: the next process must not count
    // them again.
    parts_.state.Set(kSection, SectionOf(*dealt_with_));
    if (!signs.empty()) parts_.sink.OnSigns(std::move(signs));
    parts_.state.Flush();
  }
  // There is more, but other work comes first.
  if (more) parts_.loop.Post([this] { ReadMore(); });
}

void KernelLog::CatchUp() {
  caught_up_ = true;
  if (!std::exchange(skipping_, false) || !last_read_) return;
  // From here on the place counts, also for a process that follows this one.
  dealt_with_ = last_read_;
  parts_.state.Set(kSection, SectionOf(*dealt_with_));
  parts_.state.Flush();
}

bool KernelLog::TakeRecord(const std::string& bytes, std::vector<Sign>& signs) {
  const StatusOr<KernelRecord> record = ParseKernelRecord(bytes);
  if (!record.ok()) {
    parts_.log.Debug("skipped a kernel record", {{"error", record.status().message()}});
    return false;
  }
  NoteGap(record->sequence);
  if (skipping_) return false;
  // Reported by this process or by one before it: exactly once within a boot.
  if (dealt_with_ && record->sequence <= *dealt_with_) return false;
  std::vector<KernelFault> faults = FaultsIn(*record);
  for (KernelFault& fault : FaultsBySigns(*record, parts_.rules.signs)) {
    faults.push_back(std::move(fault));
  }
  if (faults.empty()) return false;
  dealt_with_ = record->sequence;
  for (const KernelFault& fault : faults) AddSign(fault, *record, signs);
  return true;
}

void KernelLog::NoteGap(std::uint64_t sequence) {
  const std::optional<std::uint64_t> before = std::exchange(last_read_, sequence);
  // At the first record after a start no loss is known: only the last fault's place is kept, and
  // the process before may have read harmless records behind it.
  if (!before || sequence <= *before + 1) return;
  const std::uint64_t lost = sequence - *before - 1;
  parts_.metrics.Add("galen_kernel_log_lost_records_total", {}, static_cast<double>(lost));
  parts_.log.Warning("records of the kernel's log were overwritten before they were read",
                     {{"records", lost}});
}

WallTime KernelLog::TimeOf(const KernelRecord& record) const {
  const WallTime now = parts_.loop.WallNow();
  // Both clocks count from about the boot, so their difference is the record's age.
  const WallTime written = now - (parts_.loop.Now() - Time(record.since_boot));
  // A record that has just come is as old as reading it took, whatever its clock says.
  if (caught_up_ && now - written > kClockDriftMax) return now;
  return std::min(written, now);
}

std::string KernelLog::DeviceOf(const KernelFault& fault) const {
  if (ConcernsEveryDevice(fault)) return std::string(kEveryDevice);
  if (!fault.kernel_name.empty()) {
    const auto named = device_of_address_.find(fault.kernel_name);
    return named == device_of_address_.end() ? "" : named->second;
  }
  const bool exact = !fault.pci_function.empty();
  const auto& devices = exact ? device_of_address_ : device_of_slot_;
  const auto device = devices.find(exact ? fault.pci_function : fault.pci_address);
  return device == devices.end() ? "" : device->second;
}

void KernelLog::AddSign(const KernelFault& fault, const KernelRecord& record,
                        std::vector<Sign>& signs) {
  parts_.metrics.Add("galen_kernel_log_faults_total", {{"sign", fault.sign}});
  if (fault.sign == "machine-check") {
    const Duration written = record.since_boot;
    const bool same = last_machine_check_ && written - *last_machine_check_ < kMachineCheckBlock;
    last_machine_check_ = written;
    if (same) return;
  }
  Sign sign;
  sign.name = fault.sign;
  sign.value = fault.value;
  sign.time = TimeOf(record);
  sign.raw = fault.raw;
  sign.detail = fault.detail;
  sign.part = fault.part;
  sign.device = DeviceOf(fault);
  if (sign.device.empty()) {
    return parts_.log.Debug("the kernel's log names a device that is not ours",
                            {{"sign", fault.raw}});
  }
  signs.push_back(std::move(sign));
}

}  // namespace galen::probes
