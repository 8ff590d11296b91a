// Reads a recording step by step: the signs of each step, and notes on whatever in the recording
// has no effect. Whoever wrote one by hand would otherwise take a misspelled file for a healthy
// device.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/recording/recording.h"
#include "probes/rules/rule.h"
#include "probes/sysfs/device_look.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// Reads one recording. What it is given is lent. Reads files in the call; no loop, no thread.
class RecordingReader {
 public:
  RecordingReader(const SysfsFiles& files, const std::string& directory,
                  const std::vector<RecordedDevice>& devices, const RuleTable& rules)
      : files_(files), directory_(directory), devices_(devices), rules_(rules) {}

  // Notes a file of the recording that is in no step's directory.
  void NoteBesideSteps(const std::string& name);
  // The step's signs other than files: lines of the kernel's log, events. InvalidArgument, with
  // file and line, for one that cannot be understood.
  StatusOr<std::vector<Sign>> SignsOf(const std::string& step);
  // The step's files, by device.
  StatusOr<std::map<std::string, DeviceLook>> LooksOf(const std::string& step);

  // Notes on what has no effect, each once.
  std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  Status AddKernelSigns(const std::string& path, std::string_view log, std::vector<Sign>& signs);
  // A number that the table does not list: a newer device may show it.
  void NoteUnforeseen(const std::string& path, const Sign& sign, const SignSpec& spec);
  void AddRecord(const KernelRecord& record, const std::string& place, std::vector<Sign>& signs);
  void CheckFiles(const std::string& step, const std::string& device);
  void CheckFilesBelow(const std::string& root, const std::string& path,
                       const std::set<std::string>& read, const std::string& device);
  std::set<std::string> FilesThatAreRead(const std::string& root) const;
  // Once for each `about`.
  void Note(const std::string& about, std::string note);

  const SysfsFiles& files_;
  const std::string& directory_;
  const std::vector<RecordedDevice>& devices_;
  const RuleTable& rules_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

}  // namespace galen::probes
