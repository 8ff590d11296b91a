// Persists an ObjectStore, so that it survives kill -9: a snapshot and a log of what changed since,
// each record with a checksum. docs/formats/sim-data.md has every byte. Each change is one append
// without a sync, so a power cut may lose the last ones. Belongs to the API's loop; writes block
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api_sim/storage/object_store.h"
#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/loop.h"

namespace galen::api_sim {

class StoreLog {
 public:
  // Loads the directory's state into the store, then logs each change. A torn end of the log is set
  // aside and the rest used; a broken snapshot is DataLoss. The arguments outlive the log.
  static StatusOr<std::unique_ptr<StoreLog>> Open(Loop& loop, FileSystem& files, Log& log,
                                                  std::string directory, ObjectStore& store);

  // Beyond this size the log is folded into a new snapshot.
  static constexpr std::size_t kLogBytesMax = 8 * 1024 * 1024;
  // Versions skipped at a start: more than a torn end can contain, so that none is used twice.
  static constexpr std::uint64_t kVersionGap = 100'000;
  // The delay before another snapshot after a failed write: a full disk must not cost a snapshot
  // for every change.
  static constexpr Duration kRetryAfter = std::chrono::seconds(5);

 private:
  StoreLog(Loop& loop, FileSystem& files, Log& log, std::string directory, ObjectStore& store)
      : loop_(loop), files_(files), log_(log), directory_(std::move(directory)), store_(store) {}

  Status Load();
  // All or nothing: it was renamed into place complete, so a crash cannot have damaged it.
  Status LoadSnapshot();
  // Loads changes up to the first incomplete record.
  Status LoadChanges();
  // Loads one record into the store; only changes that are newer than the snapshot.
  void Take(const Json& payload);
  // Writes the whole state as a snapshot, and begins an empty log.
  Status Fold();
  void OnChange(const std::string& collection, const Change& change);
  // Logs that changes are not stored, or are stored again; meanwhile a timer retries the fold.
  void Conclude(const Status& status);
  std::string PathOf(const char* name) const { return directory_ + "/" + name; }

  Loop& loop_;
  FileSystem& files_;
  Log& log_;
  const std::string directory_;
  ObjectStore& store_;
  std::unique_ptr<AppendFile> changes_;
  // The log's present size.
  std::size_t changes_bytes_ = 0;
  std::uint64_t loaded_version_ = 0;
  bool trouble_ = false;  // changes are not stored, which was logged
  Timer retry_;
};

}  // namespace galen::api_sim
