// What the steps of a recording show, and what of them counts for nothing: a person who made one by
// hand would otherwise take a slip for a rule that holds. Reads the files, waits for nothing.
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

// Reads step after step of one recording. All is lent.
class RecordingReader {
 public:
  RecordingReader(const SysfsFiles& files, const std::string& directory,
                  const std::vector<RecordedDevice>& devices, const RuleTable& rules)
      : files_(files), directory_(directory), devices_(devices), rules_(rules) {}

  // A file of the recording that stands in no step.
  void NoteBesideSteps(const std::string& name);
  // The step's signs that are no files. InvalidArgument, with file and line, for what cannot be
  // played as it was meant.
  StatusOr<std::vector<Sign>> SignsOf(const std::string& step);
  // The step's files, by device.
  StatusOr<std::map<std::string, DeviceLook>> LooksOf(const std::string& step);

  // What counts for nothing, each once.
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
