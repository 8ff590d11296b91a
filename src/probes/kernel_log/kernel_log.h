// Follows the kernel's log and reports its faults as signs of devices: each exactly once within a
// boot, over restarts too. Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "probes/kernel_log/kernel_fault.h"
#include "probes/kernel_log/state_file.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// Where records come from: the real one is DevKmsg, the fake one a list of lines.
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
  };
  // Where to begin when no state file says how far this boot's log was dealt with: at the oldest
  // record there is, or with what comes from now on.
  enum class Begin { kAtBoot, kNow };

  // All parts are lent. Devices by their PCI address ("0000:4b:00.0"); faults of others are
  // counted.
  KernelLog(Parts parts, const std::map<std::string, std::string>& device_of_address);

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
  void AddSign(const KernelFault& fault, WallTime time, std::vector<Sign>& signs);
  // The record's time by our wall clock.
  WallTime TimeOf(const KernelRecord& record) const;

  Parts parts_;
  // By PCI address without the function, as kernel lines name it.
  std::map<std::string, std::string, std::less<>> device_of_slot_;
  std::optional<std::uint64_t> dealt_with_;  // sequence of the last reported or counted fault
  std::optional<std::uint64_t> last_read_;
  std::optional<WallTime> last_machine_check_;
  bool skipping_ = false;  // what is older than Start
  bool caught_up_ = false;
};

}  // namespace galen::probes
