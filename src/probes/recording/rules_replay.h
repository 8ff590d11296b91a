// Rules against files that were recorded: which of them begin and end when. So rules can be tried
// before they judge a machine. Reads the files, waits for nothing.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "model/health.h"
#include "probes/rules/rule.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// A rule that began or ended to hold of a device; or, without a rule, a device that became Unknown
// or is so no longer.
struct ReplayEvent {
  Duration at{};  // since the recording's begin
  std::string device{};
  std::string rule{};
  bool began = false;
  HealthState state = HealthState::kHealthy;  // that the rule gives, else of the device
  std::string sentence{};
  std::string superseded_by{};  // of one that ended: it holds still, and this rule stands for it

  bool operator==(const ReplayEvent&) const = default;
};

// The result of playing a recording.
struct Replay {
  std::vector<ReplayEvent> events{};
  Duration length{};
  std::vector<DeviceHealth> end{};  // every device, as it is at the end
  // Parts of the recording that are ignored: a line for each, with its file.
  std::vector<std::string> notes{};
  // How much of the recording some rule looked at; 0: nothing was tried.
  std::size_t tried = 0;
};

// The longest recording, and the time that its last step lasts.
inline constexpr Duration kReplayMost = std::chrono::hours(24);
inline constexpr Duration kReplayTail = std::chrono::minutes(1);
// More notes than a person reads are counted.
inline constexpr std::size_t kReplayNotesMax = 50;

// `directory` is a recording (recording.h): it has one directory for each step, named by its time
// since the begin ("0s", "30s", "2m"), which has one for each device, which has the files that the
// device shows from then on, whole. Looks are 2 s apart, as the driver's are, and a sign with
// `every` is read as seldom. InvalidArgument when it is not a recording.
StatusOr<Replay> ReplayRules(const SysfsFiles& files, const std::string& directory,
                             const RuleTable& rules);

// A line an event and one for how each device ends: "12s gpu-0 link-width-reduced began, Degraded:
// PCIe link at 8 of 16 lanes".
std::string ReplayText(const Replay& replay);

}  // namespace galen::probes
