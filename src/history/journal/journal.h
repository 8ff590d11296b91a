// An append-only file of records that survives a crash at any point: the bytes below the Store,
// which gives them a meaning. Belongs to one loop; every call that touches the disk blocks shortly.
// What was appended is on disk once Sync has answered OK; until then, and while the disk refuses to
// write, it waits in memory. A record whose Sync failed may come twice after a restart: give
// records a number. One process at a time may own the directory; nothing here checks that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"

namespace galen::history {

// A directory of numbered segments, of which only the last grows. docs/formats/journal.md describes
// files and promises.
class Journal {
 public:
  // Bytes that wait in memory for the disk; past it Append refuses.
  static constexpr std::size_t kPendingBytesMax = std::size_t{16} << 20;
  // Broken files kept for a person to look at; past it the oldest goes.
  static constexpr std::size_t kCorruptFilesMax = 8;

  struct Replayed;

  // Reads what `directory` holds, which is made when it is missing. A segment that is torn or
  // corrupt is copied beside itself as "*.corrupt-N" and cut to its good prefix; notes say so. Such
  // a segment is no error: an error is a directory that cannot be made or listed, or a left-over
  // temporary file that cannot be removed. `files` is lent and outlives the journal. What
  // was read survives a power cut from now on, or notes say that it may not. Nothing is written to
  // a journal that is sound.
  static StatusOr<Replayed> Open(FileSystem& files, std::string directory);
  Journal(const Journal&) = delete;

  // Takes a record for the next Sync; touches memory only. InvalidArgument for an empty one or one
  // of more than kRecordBytesMax bytes, ResourceExhausted at kPendingBytesMax; a record that was
  // refused is not kept.
  Status Append(std::string_view payload);

  // Writes everything appended, in one write and one sync; nothing when nothing waits. The error is
  // the file system's. After one, all of it still waits and the next Sync goes on in a new segment,
  // because where the old one ends is not known any more.
  Status Sync();

  // Replaces everything, what waits included, by `records`, atomically; removes older segments.
  // After an error everything is as it was, and what waits still waits; when only the last sync
  // failed, a power cut may bring `records` back in place of what was before them. The caller sees
  // to it that `records` hold what still waits. REQUIRES: each has 1 to kRecordBytesMax bytes.
  Status Compact(const std::vector<std::string_view>& records);

  // OK, or why the last Sync or Compact failed. May be set after a Compact that answered OK: an old
  // segment could not be removed, which costs room and nothing else.
  const Status& trouble() const { return trouble_; }
  // Bytes on disk in the segments that count.
  std::size_t bytes() const { return bytes_; }
  // Bytes in memory, with their frames.
  std::size_t pending_bytes() const { return pending_.size(); }
  // Since this process opened the journal; rewritten ones count again.
  std::uint64_t records_written() const { return records_written_; }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  Journal(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  Status Replay(Replayed& into);
  // Adds to `replaced` the segments that count no more because a snapshot came after them.
  void ReplaySegment(std::uint64_t number, Replayed& into, std::vector<std::uint64_t>& replaced);
  Status Settle();
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

// A journal and what it held: payloads, oldest first, as they were appended.
struct Journal::Replayed {
  std::unique_ptr<Journal> journal;
  std::vector<std::string> records;
  std::vector<std::string> notes;  // what was broken and what was done about it, for the log
  bool lossy = false;              // something that was written could not be read
};

}  // namespace galen::history
