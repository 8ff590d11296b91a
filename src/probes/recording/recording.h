// How a recording of what devices showed is laid out: a directory that `galen rules record` makes
// on a node, or a person by hand, and `galen rules test --replay` plays. Values and names; no I/O.
//
//   recording.yaml          which devices there are (may be missing)
//   0s/card0/temp1_input    a step for each time at which something changed, whole: its files
//   0s/signs.json           signs that are no files, such as NVML's, and
//   0s/kernel.log           records of the kernel's log, both as they came since the step before
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

inline constexpr std::string_view kRecordingFile = "recording.yaml";
inline constexpr std::string_view kSignsFile = "signs.json";
inline constexpr std::string_view kKernelLogFile = "kernel.log";
// The separator of two records of a kernel.log: records have lines of their own.
inline constexpr std::string_view kRecordEnd = "\n\n";

// A device of a recording.
struct RecordedDevice {
  std::string name{};
  std::string path{};   // below sysfs's root; "" of one that has no directory there
  std::string model{};  // "" = not known
  // How the kernel's log names it: "0000:4b:00.0", "nvme:nvme0".
  std::vector<std::string> kernel_names{};

  bool operator==(const RecordedDevice&) const = default;
};

// The text of recording.yaml, and back; `origin` names it in faults. InvalidArgument, with the
// line, when it is not such a file, or a part is unknown, comes twice, has another type, or is not
// a name that a kernel writes.
std::string WriteRecordedDevices(const std::vector<RecordedDevice>& devices);
StatusOr<std::vector<RecordedDevice>> ReadRecordedDevices(std::string_view text,
                                                          std::string_view origin);

// The text of signs.json, and back. Times are not kept: a step has its own. InvalidArgument, with
// the line, when it is not a list, or a sign has an unknown field or one of another type, lacks its
// device, its name or its value, comes twice without being an event of the table, or has another
// unit or type of value than there.
std::string WriteSigns(const std::vector<Sign>& signs);
StatusOr<std::vector<Sign>> ReadSigns(std::string_view text, std::string_view origin,
                                      const RuleTable& rules);

// "12.5s": the name of a step.
std::string StepName(Duration at);

}  // namespace galen::probes
