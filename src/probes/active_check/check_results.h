// The results that active checks left for a driver's devices, as one sign each: "active-check", 1
// while the last one failed. Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/disk_queue.h"
#include "base/liveness.h"
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

// Where they come from; the real one is the disk. Asked on one thread after the other.
class ResultFiles {
 public:
  virtual ~ResultFiles() = default;
  // The files of a directory, by name; empty where there is no directory. Errors are those of the
  // disk and of too many open files.
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
  // A look that takes longer is a trouble. It goes on, and no other is made meanwhile.
  static constexpr Duration kPatience = std::chrono::seconds(5);

  // Lent; they outlive the probe.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
  };

  // `files` is read on `queue`: its disk may hang. `directory` need not be there. `boot_id` is that
  // of the machine's present life: a result of another one counts for nothing.
  CheckResults(Parts parts, std::unique_ptr<ResultFiles> files, std::unique_ptr<DiskQueue> queue,
               std::string directory, std::string boot_id);

  // Sets the devices from now on.
  void SetDevices(const std::vector<CheckedDevice>& devices);
  // Before anything is served: looks in this call, so that nobody sees a device well that has not
  // been looked at. Later looks that find something new call `look_again`.
  void Start(std::function<void()> look_again);
  // A sign for each device, by the last look that ended; and begins another. Its detail is the
  // sentence of the check that failed, or says when one passed; "" where there is none to believe.
  StatusOr<std::vector<Sign>> Observe() override;

 private:
  // A file as it was read.
  struct Known {
    std::optional<FileStamp> stamp{};     // none: it is read again at the next look
    std::optional<CheckResult> result{};  // when it is believed
    std::string error{};                  // why nobody knows what is in it
    std::string complaint{};              // what the log said last
  };

  // What a look found.
  struct Reading {
    bool done = false;  // else the result is the disk's trouble, and says nothing of the file
    StatusOr<CheckResult> result;
  };
  struct Found {
    std::unique_ptr<ResultFiles> lent;  // given back
    StatusOr<std::map<std::string, FileStamp>> files;
    std::map<std::string, Reading> readings{};  // of those that are not known
  };

  // On any thread.
  static Found LookAt(std::unique_ptr<ResultFiles> files, const std::string& directory,
                      const std::map<std::string, FileStamp>& known);
  std::map<std::string, FileStamp> KnownStamps() const;
  void Look();
  void OnLook(Found found);
  // What could not be listed or read now stays as it was.
  void Take(Found found);
  void NoteListing(const Status& status);
  void Load(const std::string& name, const FileStamp& stamp, Reading reading);
  // Says in the log, once, and counts what speaks against it.
  void Refuse(const std::string& name, Known& known, const Status& why);
  // FailedPrecondition: it is of another boot. OutOfRange: it ended in the future, and may count
  // later. InvalidArgument: it is about another device.
  Status Believe(const CheckResult& result, const std::string& name) const;
  const CheckResult* Of(const CheckedDevice& device, CheckSubject subject) const;
  std::vector<Sign> Signs(WallTime now) const;
  Sign SignOf(const CheckedDevice& device, WallTime now) const;

  Parts parts_;
  // While no look is under way: a look owns them, for it may hang for longer than this lives.
  std::unique_ptr<ResultFiles> files_;
  const std::unique_ptr<DiskQueue> queue_;
  const std::string directory_, boot_id_;
  std::vector<CheckedDevice> devices_;
  std::map<std::string, Known> known_;  // by the file's name
  bool listed_ = false;                 // at least once
  std::string trouble_;                 // of the last listing
  bool looking_ = false, observing_ = false;
  std::function<void()> look_again_;
  Timer patience_;
  Liveness liveness_;
};

}  // namespace galen::probes
