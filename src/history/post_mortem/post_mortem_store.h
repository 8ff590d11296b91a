// The post-mortem records of a node, and which Pods hold which devices so that no end is missed
// while nobody looks: kept over restarts in a journal of their own, bounded by bytes and age.
// Belongs to one loop. Answers come from memory and are the same after a restart for all that Sync
// has answered OK for.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "history/journal/journal_writer.h"
#include "history/post_mortem/post_mortem.h"

namespace galen::history {

// A Pod that has not ended, with the devices that it is known to hold or to have held.
struct Holding {
  PodRef pod;
  std::vector<PostMortemDevice> devices = {};  // without findings
  std::optional<WallTime> began = {};          // when the Pod began to run
  bool operator==(const Holding&) const = default;
};

class PostMortemStore {
 public:
  static constexpr std::size_t kPerPodMax = 8;       // records; then the Pod's oldest well ones go
  static constexpr std::size_t kHoldingsMax = 4096;  // more than a node's Pods; then one goes

  // Where records are kept, for how long and how many.
  struct Options {
    std::string directory;  // the journal's; made when it is missing. One process at a time.
    // Records that ended longer ago are not answered with any more.
    Duration age_max = std::chrono::hours(14 * 24);
    // Limit of the encoded records; past it the oldest without a device fault are dropped, then the
    // oldest.
    std::size_t bytes_max = std::size_t{2} << 20;
    // As JournalWriter's.
    DiskQueue* disk = nullptr;
  };

  // Reads what is on disk; a line that cannot be read is left out and notes() says so. Writes
  // nothing. Errors are those of Journal::Open. `files` is lent and outlives the store.
  static StatusOr<std::unique_ptr<PostMortemStore>> Open(FileSystem& files, Options options);
  PostMortemStore(const PostMortemStore&) = delete;

  // These change memory only; Sync writes. An unchanged value is not written again.
  // Stores the record, bounded; it replaces the one with the same Pod's uid and number.
  void Put(PostMortem record, WallTime now);
  // Replaces what was known of that Pod.
  void Hold(Holding holding);
  // The Pod with this uid is over.
  void Release(const std::string& uid);
  // The node's present boot, "" when unknown.
  void NoteBoot(const std::string& boot_id);

  // As JournalWriter's.
  void Sync(JournalWriter::Done done) { writer_->Sync(std::move(done)); }
  bool waits() const { return writer_->waits(); }

  // Newest end first.
  std::vector<PostMortem> All(WallTime now) const;
  // A choice among all records; only those that are returned are decoded.
  struct Query {
    std::string ns, name;  // of the Pods; "": any
    // Limit of the records as they are written; those after the first that exceeds it are only
    // counted.
    std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
  };
  struct Answer {
    std::vector<PostMortem> records;
    std::size_t left_out = 0;
  };
  Answer Newest(const Query& query, WallTime now) const;
  // The Pod of that name whose record is the newest, in whatever namespace.
  std::optional<ObjectKey> PodNamed(const std::string& name, WallTime now) const;
  // The newest `most` of those in which a device had a fault.
  std::vector<PostMortem> WithFault(WallTime now, std::size_t most) const;
  std::vector<PostMortem> OfPod(const ObjectKey& pod, WallTime now) const;
  // Whether the record is among All.
  bool Has(const std::string& uid, int number, WallTime now) const;
  // The last record of the Pod with this uid.
  std::optional<PostMortem> LastOf(const std::string& uid) const;
  // Records in which something may still be entered at `now`, `grace` after their windows' ends.
  std::vector<PostMortem> OpenAt(WallTime now, Duration grace) const;
  const std::map<std::string, Holding>& holdings() const { return holdings_; }  // by uid
  // The record of the Pod with this uid, valid until the next non-const call; null when there is
  // none.
  const Holding* HoldingOf(const std::string& uid) const;
  const std::string& boot_id() const { return boot_id_; }
  Duration age_max() const { return options_.age_max; }

  std::size_t records() const { return records_.size(); }
  std::size_t bytes() const { return bytes_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const JournalWriter& journal() const { return *writer_; }

 private:
  // Kept as written, a fifth of its size in memory; few are ever asked for.
  struct Kept {
    std::string line;
    ObjectKey pod;
    WallTime ended{};
    bool fault = false;
  };
  using Id = std::pair<std::string, int>;  // uid and number

  explicit PostMortemStore(Options options) : options_(std::move(options)) {}

  void Replay(const std::vector<std::string>& lines);
  Status ReplayLine(const std::string& line);
  void Keep(const PostMortem& record, std::string line);
  void Erase(std::map<Id, Kept>::iterator it);
  void DropOlderThan(WallTime time);
  void MakeRoom();
  void MakeRoomOfPod(const std::string& uid);
  std::vector<std::string> Lines() const;
  // Decoded, newest end first, those that `matches` takes.
  template <typename Matches>
  std::vector<PostMortem> Find(Matches matches) const;

  const Options options_;
  std::unique_ptr<JournalWriter> writer_;
  std::vector<std::string> notes_;
  std::map<Id, Kept> records_;
  std::size_t bytes_ = 0;
  std::map<std::string, Holding> holdings_;
  std::string boot_id_;
};

}  // namespace galen::history
