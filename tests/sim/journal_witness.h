// A file system that reads along what an agent's journal has on the disk, so that what leaves the
// agent can be compared with it. Belongs to the world's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file_system.h"
#include "base/loop/loop.h"
#include "model/health.h"
#include "net/http.h"

namespace galen::sim {

// Forwards every call to the real one. What a journal holds counts from its sync on, and what an
// agent reads back: one that is killed in a sync leaves records that only the next one knows of.
class JournalWitness final : public FileSystem {
 public:
  // The newest texts that are remembered; a write that leaves is never so far behind.
  static constexpr std::size_t kTextsMax = 4000;

  // `files` is lent and outlives this and the files that were opened.
  explicit JournalWitness(FileSystem& files) : files_(files) {}

  // What a write to a Pod says of a device that reports and that no synced record says; nullopt
  // when it says nothing of that kind. For Pods that hold one device.
  std::optional<std::string> Unrecorded(const net::HttpRequest& write) const;

  // How often the device of this name was recorded as it went to `state` in a way that is worth an
  // Event.
  int Changes(const std::string& device, HealthState state) const {
    const auto it = changes_.find({device, state});
    return it == changes_.end() ? 0 : it->second;
  }

  // The same of one driver's device, where a record that is written once more, as by a rewrite,
  // counts once.
  int TimesChanged(const DeviceId& device, HealthState state) const {
    const auto it = times_changed_.find({device, state});
    return it == times_changed_.end() ? 0 : it->second;
  }

  // From now on a sync says that it is done and comes a moment later, as under an agent that does
  // not wait for it.
  void SyncLate(Loop& loop) { late_ = &loop; }

  // What was recorded out of its order, since this was asked last: a driver's fault after one that
  // came later (SimDriver::ChangeNamedIn).
  std::vector<std::string> TakeDisorders() { return std::exchange(disorders_, {}); }

  StatusOr<std::string> Read(const std::string& path) override;
  StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status WriteAtomically(const std::string& path, std::string_view bytes, unsigned mode) override;
  Status Rename(const std::string& from, const std::string& to) override {
    return files_.Rename(from, to);
  }
  Status Remove(const std::string& path) override { return files_.Remove(path); }
  Status MakeDirectories(const std::string& path, unsigned mode) override {
    return files_.MakeDirectories(path, mode);
  }
  StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) override {
    return files_.TryLock(path);
  }
  StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    return files_.List(directory);
  }

 private:
  class File;

  // What segments come by: a write, or an agent that reads back what it may have been noted for.
  enum class Way { kWritten, kRead };

  Status SyncLate(const std::shared_ptr<AppendFile>& file, std::string frames);
  void Note(std::string_view frames, Way way);
  void Remember(const std::string& text);
  void CheckOrder(const DeviceHealth& after);

  FileSystem& files_;
  Loop* late_ = nullptr;  // null unless syncs come late
  std::vector<Timer> late_syncs_;
  std::set<std::string> texts_;  // annotations and conditions of what is recorded
  std::deque<std::string> order_;
  std::map<std::pair<std::string, HealthState>, int> changes_;
  std::map<std::pair<DeviceId, HealthState>, int> times_changed_;
  std::map<DeviceId, std::uint64_t> last_change_;
  std::vector<std::string> disorders_;
  std::uint64_t newest_ = 0;  // sequence of a change that was counted
};

}  // namespace galen::sim
