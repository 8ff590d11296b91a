// An append-only file of records that survives a crash at any point. Belongs to one loop.
// What was appended is on disk once Sync has answered OK; until then, and while the disk refuses
// to write, it waits in memory. A record whose Sync failed may come twice after a restart: give
// records a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace galen::history {

class Journal {
 public:
  // What waits for a disk that does not write. At the limit Append refuses.
  static constexpr std::size_t kPendingBytesMax = std::size_t{16} << 20;
  // Broken files kept for a person to look at; past it the oldest goes.
  static constexpr std::size_t kCorruptFilesMax = 8;

  struct Replayed;

  // Reads what `directory` holds, which is made when it is missing. A segment that is torn or
  // corrupt is copied beside itself as "*.corrupt-N" and cut to its good prefix; notes say so.
  static StatusOr<Replayed> Open(FileSystem& files, std::string directory);
  Journal(const Journal&) = delete;

  // Takes a record for the next Sync. InvalidArgument for an empty one or one of more than
  // kRecordBytesMax bytes, ResourceExhausted at kPendingBytesMax.
  Status Append(std::string_view payload);

  // Writes everything appended, in one write and one sync; nothing when nothing waits. After an
  // error all of it still waits and the next Sync goes on in a new segment.
  Status Sync();

  // Replaces everything, what waits included, by `records`, atomically; removes older segments.
  // After an error everything is as it was.
  Status Compact(const std::vector<std::string>& records);

  // OK, or what the last Sync or Compact died of.
  const Status& trouble() const { return trouble_; }
  // In the segments that count.
  std::size_t bytes() const { return bytes_; }
  std::size_t pending_bytes() const { return pending_.size(); }
  // Since the start.
  std::uint64_t records_written() const { return records_written_; }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  Journal(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  Status Replay(Replayed& into);
  void ReplaySegment(std::uint64_t number, Replayed& into);
  Status Quarantine(const std::string& name, std::string_view bytes, std::size_t good_bytes);
  Status DropOldestCorrupt();
  Status WritePending();
  void LeaveSegment();
  std::string PathOf(std::uint64_t number) const;

  FileSystem& files_;
  const std::string directory_;
  std::string pending_;  // framed
  std::uint64_t pending_records_ = 0;
  std::unique_ptr<AppendFile> file_;     // of segment last_; null until something is written
  std::vector<std::uint64_t> segments_;  // that count, in order
  std::uint64_t last_ = 0;               // the highest number ever used
  bool has_synced_ = false;              // the open segment holds something worth keeping
  std::size_t bytes_ = 0;
  Status trouble_;
  std::uint64_t records_written_ = 0;
  std::uint64_t bytes_written_ = 0;
};

// A journal and what it held, oldest first.
struct Journal::Replayed {
  std::unique_ptr<Journal> journal;
  std::vector<std::string> records;
  std::vector<std::string> notes;  // what was broken and what was done about it, for the log
};

}  // namespace galen::history
