// Keeps an ObjectStore over a kill -9: a snapshot and a log of what changed since, each record with
// a checksum. docs/formats/sim-data.md has every byte. Each change is one append without a sync, so
// a power cut may lose the last ones. Belongs to the API's loop; writes block it.
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
  // Loads what the directory keeps into the store, then writes down each change of it. A torn end
  // of the log is put beside and the rest used; a broken snapshot is DataLoss. What is lent
  // outlives the log.
  static StatusOr<std::unique_ptr<StoreLog>> Open(Loop& loop, FileSystem& files, Log& log,
                                                  std::string directory, ObjectStore& store);

  // Past this a log is folded into a new snapshot.
  static constexpr std::size_t kLogBytesMax = 8 * 1024 * 1024;
  // Versions skipped at a start: more than a torn end can have held, so that none is used twice.
  static constexpr std::uint64_t kVersionGap = 100'000;
  // After changes could not be kept: a full disk must not cost a snapshot for every write.
  static constexpr Duration kRetryAfter = std::chrono::seconds(5);

 private:
  StoreLog(Loop& loop, FileSystem& files, Log& log, std::string directory, ObjectStore& store)
      : loop_(loop), files_(files), log_(log), directory_(std::move(directory)), store_(store) {}

  Status Load();
  // All or nothing: it was renamed into place whole, so damage is not a crash's work.
  Status LoadSnapshot();
  // Up to the first record that is not whole.
  Status LoadChanges();
  // One record into the store. Of changes only those that are newer than the snapshot.
  void Take(const Json& payload);
  // Writes all that is now, and begins an empty log.
  Status Fold();
  void OnChange(const std::string& collection, const Change& change);
  // Says that changes are not kept, or are again; while they are not, a fold is tried by the timer.
  void Conclude(const Status& status);
  std::string PathOf(const char* name) const { return directory_ + "/" + name; }

  Loop& loop_;
  FileSystem& files_;
  Log& log_;
  const std::string directory_;
  ObjectStore& store_;
  std::unique_ptr<AppendFile> changes_;
  // The size of the log as it is now.
  std::size_t changes_bytes_ = 0;
  std::uint64_t loaded_version_ = 0;
  bool trouble_ = false;  // changes are not kept, and it has been said
  Timer retry_;
};

}  // namespace galen::api_sim
