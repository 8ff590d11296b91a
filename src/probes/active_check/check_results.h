// The results that active checks left for a driver's devices, as one sign each: "active-check", 1
// while the last one failed. Belongs to its loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "base/status.h"
#include "model/check_result.h"
#include "probes/placeholders.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// ---- Files with results of active checks (docs/formats/check-result.md), read with the distrust
// that belongs to what makes a device Unhealthy.

// Shows whether a file was written to, or replaced by another of its name.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t changed = 0;  // ctime in nanoseconds, which nobody sets at will
  std::uint64_t bytes = 0;

  bool operator==(const FileStamp&) const = default;
};

// Where results come from; the real one is the disk.
class ResultFiles {
 public:
  virtual ~ResultFiles() = default;
  // The files of a directory, by name; empty where there is no directory. Short: asked at each
  // look. Errors are those of the disk and of too many open files.
  virtual StatusOr<std::map<std::string, FileStamp>> List(const std::string& directory) = 0;
  // The text of a file that nobody but root and this process's user can have written.
  // PermissionDenied says what speaks against it: its owner, its mode, or that it is not a plain
  // file.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
};

// Results on the disk.
class DiskResultFiles final : public ResultFiles {
 public:
  StatusOr<std::map<std::string, FileStamp>> List(const std::string& directory) override;
  StatusOr<std::string> Read(const std::string& path) override;
};

inline constexpr std::string_view kActiveCheckSign = "active-check";

class CheckResults final : public Probe {
 public:
  // How long a check that passed is worth mentioning.
  static constexpr Duration kPassedHolds = std::chrono::hours(24 * 7);
  // How far in the future a result may lie: this machine's clock may jump back a little, as at its
  // start.
  static constexpr Duration kFutureMost = std::chrono::minutes(1);

  // Lent; they outlive the probe.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
  };

  // `directory` need not be there. `boot_id` is that of the present boot: a result of another boot
  // does not count.
  CheckResults(Parts parts, std::unique_ptr<ResultFiles> files, std::string directory,
               std::string boot_id);

  // Sets the devices from now on.
  void SetDevices(const std::vector<CheckedDevice>& devices);
  // A sign for each device. Its detail is the sentence of the check that failed, or says when one
  // passed; "" when no result counts.
  StatusOr<std::vector<Sign>> Observe() override;

 private:
  // A file as it was read.
  struct Known {
    std::optional<FileStamp> stamp{};     // none: it is read again at the next look
    std::optional<CheckResult> result{};  // when it is believed
    std::string error{};                  // why nobody knows what is in it
    std::string complaint{};              // what the log said last
  };

  // Reads what has changed; what cannot be listed or read now stays as it was.
  void Refresh();
  void Load(const std::string& name, const FileStamp& stamp);
  // Logs once, and counts, why a result does not count.
  void Refuse(const std::string& name, Known& known, const Status& why);
  // FailedPrecondition: it is of another boot. OutOfRange: it ended in the future, and may count
  // later. InvalidArgument: it is about another device.
  Status Believe(const CheckResult& result, const std::string& name) const;
  const CheckResult* Of(const CheckedDevice& device, CheckSubject subject) const;
  Sign SignOf(const CheckedDevice& device) const;

  Parts parts_;
  const std::unique_ptr<ResultFiles> files_;
  const std::string directory_, boot_id_;
  std::vector<CheckedDevice> devices_;
  std::map<std::string, Known> known_;  // by the file's name
  bool listed_ = false;                 // at least once
  std::string trouble_;                 // of the last listing
};

}  // namespace galen::probes
