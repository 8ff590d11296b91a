// A journal that never makes its caller wait for the disk: records are taken at once and written by
// a DiskQueue. A Sync during a write is one more write after it. Belongs to one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/disk_queue.h"
#include "base/liveness.h"
#include "history/journal/journal.h"

namespace galen::history {

class JournalWriter {
 public:
  // The answer to Sync, on the loop.
  using Done = std::function<void(const Status& status)>;

  // Where and when the journal is written.
  struct Options {
    // Null: writes are done in the call that asks for them. Lent, outlives the writer.
    DiskQueue* disk = nullptr;
    // The journal is rewritten when it has grown past this, and past twice what it must hold.
    std::size_t rewrite_bytes = 0;
    // Everything that is kept, in order: what a rewrite holds. Each 1 to kRecordBytesMax bytes.
    std::function<std::vector<std::string>()> lines;
  };

  JournalWriter(std::unique_ptr<Journal> journal, Options options);

  // Takes a record for the next write; touches memory only. What there is no room for while the
  // disk does not write (Journal::kPendingBytesMax) is in the next rewrite, if it is still kept.
  void Append(std::string record);
  // `done` is called once all that was appended before is on the disk, or with the error; then it
  // waits for the next call. In the order of calls; never after the writer was destroyed; perhaps
  // inside this call.
  void Sync(Done done);

  // Whether something that was appended is not on the disk.
  bool waits() const { return incomplete_ || pending_bytes() > 0; }
  // Whether a write is under way.
  bool busy() const { return busy_; }
  // As the journal has them since the last write.
  std::size_t bytes() const { return seen_.bytes; }
  std::uint64_t records_written() const { return seen_.records_written; }
  const Status& trouble() const { return seen_.trouble; }
  // Bytes in memory that wait for a write.
  std::size_t pending_bytes() const { return seen_.pending_bytes + taken_bytes_; }

 private:
  struct Write;
  // The journal's numbers, for as long as a write has it.
  struct Seen {
    std::size_t bytes = 0, pending_bytes = 0;
    std::uint64_t records_written = 0;
    Status trouble;
  };

  static Seen See(const Journal& journal);
  void Begin();
  void End(Write& write);

  std::unique_ptr<Journal> journal_;  // null while a write has it
  const Options options_;
  std::vector<std::string> taken_;  // since the last write began
  std::size_t taken_bytes_ = 0;
  std::vector<Done> asked_, writing_;  // who waits for the next write; for the present one
  bool busy_ = false;
  bool incomplete_ = false;  // the journal lacks something that is kept
  std::size_t rewrite_at_;   // bytes of journal past which the next write rewrites it
  Seen seen_;
  Liveness liveness_;
};

}  // namespace galen::history
