// Records what devices of this machine show, so that a fault in the field becomes a test: the files
// that a table's signs read, signs of other sources, and lines of the kernel's log that are faults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "probes/recording/recording.h"
#include "probes/rules/rule.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// Limits of a recording; past them Look is ResourceExhausted.
inline constexpr std::size_t kRecordedStepsMax = 10'000;
inline constexpr std::uint64_t kRecordedBytesMax = std::uint64_t{256} << 20;

// The devices that the patterns name below `root`, by the names that galen-driver sysfs gives them,
// with what the kernel's files say of their model. NotFound: there is none.
StatusOr<std::vector<RecordedDevice>> FindRecorded(const SysfsFiles& files, const std::string& root,
                                                   const std::vector<std::string>& patterns);
// Texts that identify this one device: serial numbers, UUIDs, addresses of its ports, as the
// kernel's files have them.
std::vector<std::string> SecretsOf(const SysfsFiles& files, const std::string& directory);

// Belongs to its caller. Reads files in the call, so it may block where one does.
class RulesRecorder {
 public:
  // Where a recording goes, and what it hides.
  struct Options {
    std::string directory{};  // where the recording is made
    std::string sysfs_root = "/sys";
    // Texts that are written as a hash wherever they stand, whatever their case. Nobody can find
    // the text of a hash by trial: `salt` is drawn anew for each recording and not kept.
    std::vector<std::string> secrets{};
    std::uint64_t salt = 0;
  };

  // All lent; they outlive the recorder.
  RulesRecorder(const SysfsFiles& sysfs, FileSystem& disk, const RuleTable& rules,
                std::vector<RecordedDevice> devices, Options options);

  // Makes the directory. AlreadyExists when it is not empty.
  Status Begin();
  // Takes signs that came since the last look and belong to the next step.
  void NoteSigns(std::vector<Sign> signs);
  // Takes one record of /dev/kmsg; true when it is kept: a fault of some device, or a line that the
  // table knows.
  bool NoteKernelRecord(std::string_view bytes);
  // Writes a step where something changed since the one before, `at` since the begin.
  Status Look(Duration at);

  std::size_t steps() const { return steps_; }

 private:
  using Shown = std::map<std::string, std::string>;  // by device/file: its text
  Shown ReadAll() const;
  void ReadDevice(const RecordedDevice& device, Shown& shown) const;
  void ReadFile(const std::string& directory, const std::string& name, const std::string& file,
                Shown& shown) const;
  Status Write(const std::string& path, std::string_view text);
  std::string WithoutSecrets(std::string text) const;

  const SysfsFiles& sysfs_;
  FileSystem& disk_;
  const RuleTable& rules_;
  const std::vector<RecordedDevice> devices_;
  const Options options_;
  std::map<std::string, std::string> hash_of_;                    // by secret
  std::optional<Shown> shown_;                                    // of the last step
  std::map<std::pair<std::string, std::string>, Sign> readings_;  // last of each device and name
  std::vector<Sign> signs_;
  std::string kernel_log_;
  std::size_t steps_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace galen::probes
