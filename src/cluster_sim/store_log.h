// Keeps an ObjectStore over a kill -9: a snapshot and a log of what changed since, each record
// with a checksum. docs/formats/sim-data.md has every byte. Belongs to the API's loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file_system.h"
#include "base/log.h"
#include "cluster_sim/object_store.h"

namespace galen::cluster_sim {

class StoreLog {
 public:
  // Loads what the directory keeps into the store, then writes down each change of it. A torn end
  // of the log is put beside and the rest used; a broken snapshot is DataLoss. What is lent
  // outlives the log.
  static StatusOr<std::unique_ptr<StoreLog>> Open(FileSystem& files, Log& log,
                                                  std::string directory, ObjectStore& store);

  // Past this a log is folded into a new snapshot.
  static constexpr std::size_t kLogBytesMax = 8 * 1024 * 1024;
  // Versions skipped at a start: more than a torn end can have held, so that none is used twice.
  static constexpr std::uint64_t kVersionGap = 100'000;

 private:
  StoreLog(FileSystem& files, Log& log, std::string directory, ObjectStore& store)
      : files_(files), log_(log), directory_(std::move(directory)), store_(store) {}

  Status Load();
  Status LoadSnapshot();
  Status LoadChanges();
  void Take(const Json& payload);
  // Writes all that is now, and begins an empty log.
  Status Fold();
  void OnChange(const std::string& collection, const Change& change);
  std::string PathOf(const char* name) const { return directory_ + "/" + name; }

  FileSystem& files_;
  Log& log_;
  const std::string directory_;
  ObjectStore& store_;
  std::unique_ptr<AppendFile> changes_;
  std::size_t changes_bytes_ = 0;
  std::uint64_t loaded_version_ = 0;
  bool trouble_ = false;  // changes cannot be kept: said once, tried again now and then
  int changes_since_trouble_ = 0;
};

}  // namespace galen::cluster_sim
