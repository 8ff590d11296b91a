// The kernel's log: its faults, reading it, and the real source of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop/io_loop.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "probes/kernel_log/kernel_record.h"
#include "probes/kernel_log/state_file.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// ---- Finds the lines of the kernel's log that report a fault of a device: NVIDIA's XID and SXID,
// PCIe's AER, machine checks and a GPU that fell off its bus. Pure. A line that only looks like one
// costs a device its health, so only what the kernel itself and root have written is looked at, and
// of that nothing that a program can choose: its name, its file's name, its messages.

// A fault in a line: which sign, of which PCI device, with what value.
struct KernelFault {
  std::string sign{};         // "xid"
  std::string pci_address{};  // "0000:4b:00", without the function; "" when no device is named
  double value = 1;           // the number of an XID or SXID
  std::string raw{};          // "kernel log: Xid 79 on 0000:4b:00"
  // With the function, "0000:4b:00.1", where the kernel itself names the device; "" otherwise.
  std::string pci_function{};
  // "nvme:nvme0", where the kernel itself names a device of another subsystem than PCI.
  std::string kernel_name{};
  std::string part{};    // of a GPU, the MIG instance: as Sign::part
  std::string detail{};  // the part of the device that it is about, "link 6"; "" when none is named

  bool operator==(const KernelFault&) const = default;
};

// The faults in a record; mostly none. XID 154 gives two: itself and what it asks for. A record of
// another facility than the kernel's and root's gives none, whatever its text. A PCIe error counts
// only where the record's properties (SUBSYSTEM=pci, DEVICE=+pci:…, written by the kernel's
// dev_printk) name the device that its text names; root's lines have none.
std::vector<KernelFault> FaultsIn(const KernelRecord& record);

// The meaning of the registers of an NVLink XID (74, and 144 to 150), by NVIDIA's catalog.
enum class NvlinkFault {
  kUnclear,   // none that the catalog knows, or text and registers disagree: the XID counts by
              // number
  kHardware,  // a part of the GPU is broken: only a reset helps
  kLink,      // the link between two devices is broken: contacts, cables, the other end
  kProgram,   // a program was ended; XID 154 follows where a reset is needed
  kIgnored,   // the catalog says to ignore it
};
// `rest` is a line of the kernel's log from the XID's number on. Pure; what programs are called may
// stand in it and changes nothing.
NvlinkFault DecodeNvlinkXid(std::int64_t xid, std::string_view rest);
// The number of the NVLink that such a line is about; nullopt when it names none, has a form that
// DecodeNvlinkXid does not read, or is of another XID.
std::optional<int> LinkOfNvlinkXid(std::int64_t xid, std::string_view rest);

// The PCI device, with its function, that the kernel says a record is about: "0000:4b:00.1"; ""
// when it says none. Only the kernel's own code fills the record's properties, whatever the text
// quotes.
std::string AddressOfRecord(const KernelRecord& record);

// Faults of lines that a table knows (SignSpec::kernel): the driver's name, the device's as the
// record's properties have it, then what the sign's expression takes from there on.
std::vector<KernelFault> FaultsBySigns(const KernelRecord& record,
                                       const std::vector<SignSpec>& signs);

// "PCI:0000:4b:00" or "0000:4B:00.0" → "0000:4b:00"; "" when the text starts with no address.
// Drivers name the slot with or without the function, so slots are compared without.
std::string PciSlot(std::string_view text);

// Where records come from: the real one is DevKmsg, the fake one a list of lines. Belongs to its
// loop; no call blocks.
class KernelLogSource {
 public:
  virtual ~KernelLogSource() = default;
  // The next record as it was written; nullopt: none now. DataLoss: records were overwritten before
  // they were read, go on with the next. Anything else: the log cannot be read any more, and
  // OnReadable calls no more.
  virtual StatusOr<std::optional<std::string>> Next() = 0;
  // Called whenever there may be more, from the loop; also without need. A second callback takes
  // the place of the first.
  virtual void OnReadable(std::function<void()> callback) = 0;
};

// Follows the kernel's log and reports its faults as signs of devices: each exactly once within a
// boot, over restarts too. Belongs to its loop.
class KernelLog {
 public:
  // All lent; they outlive the log.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    StateFile& state;
    KernelLogSource& source;
    SignSink& sink;
    // Its lines count beside those that FaultsIn knows.
    const RuleTable& rules;
  };
  // Where to begin when no state file says how far this boot's log was dealt with: at the oldest
  // record there is, or with what comes from now on.
  enum class Begin { kAtBoot, kNow };

  // All parts are lent. Devices by their PCI address ("0000:4b:00.0"), or by subsystem and name
  // ("nvme:nvme0"); faults of others are counted.
  KernelLog(Parts parts, const std::map<std::string, std::string>& device_of_address);
  // The devices from now on. A fault that names a function counts for the device of that function
  // alone; one that names a slot, for the device there with the lowest function.
  void SetDevices(const std::map<std::string, std::string>& device_of_address);

  // Reports what this boot's log has and was not dealt with yet, then follows it. Devices that did
  // not exist before, such as simulated ones, start with the present line: older lines are about
  // others.
  void Start(Begin begin = Begin::kAtBoot);

 private:
  void ReadMore();
  // Everything that was in the log at the start has been read.
  void CatchUp();
  // Whether it has a fault that was not dealt with before.
  bool TakeRecord(const std::string& bytes, std::vector<Sign>& signs);
  // Counts and reports records that were overwritten before they were read.
  void NoteGap(std::uint64_t sequence);
  void AddSign(const KernelFault& fault, const KernelRecord& record, std::vector<Sign>& signs);
  // "" when the fault is of a device that is not ours.
  std::string DeviceOf(const KernelFault& fault) const;
  // The record's time by our wall clock.
  WallTime TimeOf(const KernelRecord& record) const;

  Parts parts_;
  // By PCI address with the function, and without it, as most kernel lines name it.
  std::map<std::string, std::string, std::less<>> device_of_address_;
  std::map<std::string, std::string, std::less<>> device_of_slot_;
  std::optional<std::uint64_t> dealt_with_;  // sequence of the last reported or counted fault
  std::optional<std::uint64_t> last_read_;
  std::optional<Duration> last_machine_check_;  // since boot, by the kernel
  bool skipping_ = false;                       // what is older than Start
  bool caught_up_ = false;
};

// /dev/kmsg, opened for reading without waiting: the real source of a KernelLog. Belongs to its
// loop, which is lent.
// https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg says how the file behaves.
class DevKmsg final : public KernelLogSource {
 public:
  // From the first record that the kernel still has; records from before this process come again,
  // so the reader must know how far it is. A record longer than `record_bytes_max` is passed over.
  // PermissionDenied says what is missing; other errors are open(2)'s.
  static StatusOr<std::unique_ptr<DevKmsg>> Open(
      IoLoop& loop, const std::string& path, std::size_t record_bytes_max = kKernelRecordBytesMax);

  // One read(2) a record. DataLoss: the ring buffer went round, or a record was too long; the next
  // call gives the oldest record there is, or the one after. Any other error is the last: the file
  // is not watched any more.
  StatusOr<std::optional<std::string>> Next() override;
  void OnReadable(std::function<void()> callback) override;

 private:
  DevKmsg(IoLoop& loop, Fd fd, std::size_t record_bytes_max)
      : loop_(loop), fd_(std::move(fd)), buffer_(record_bytes_max, '\0') {}

  IoLoop& loop_;
  Fd fd_;
  FdWatch watch_;       // after the descriptor it watches
  std::string buffer_;  // one record
  int too_long_ = 0;    // records in a row
  bool dead_ = false;
};

}  // namespace galen::probes
