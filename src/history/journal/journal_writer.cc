#include "history/journal/journal_writer.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "history/journal/segment.h"

namespace galen::history {

// One write on the disk queue; nobody else touches the journal meanwhile.
struct JournalWriter::Write {
  std::unique_ptr<Journal> journal;
  std::vector<std::string> records;
  std::optional<std::vector<std::string>> rewrite;
  bool must_rewrite = false;  // the journal lacks something
  bool rewritten = false;
  Status status;
  Seen seen;

  void Run() {
    status = Keep();
    seen = See(*journal);
  }

  Status Keep() {
    Status taken;
    for (const std::string& record : records) {
      if (const Status appended = journal->Append(record); !appended.ok()) taken = appended;
    }
    // A rewrite holds all that waits, so it takes the place of the write. One that fails when
    // nothing is lacking is only put off: the plain write may still fit on the disk.
    if (rewrite) {
      const Status compacted = journal->Compact({rewrite->begin(), rewrite->end()});
      rewritten = compacted.ok();
      if (rewritten || must_rewrite) return compacted;
    }
    const Status synced = journal->Sync();
    must_rewrite = !taken.ok();
    return synced.ok() ? taken : synced;
  }
};

JournalWriter::Seen JournalWriter::See(const Journal& journal) {
  return {.bytes = journal.bytes(),
          .pending_bytes = journal.pending_bytes(),
          .records_written = journal.records_written(),
          .trouble = journal.trouble()};
}

JournalWriter::JournalWriter(std::unique_ptr<Journal> journal, Options options)
    : journal_(std::move(journal)),
      options_(std::move(options)),
      // The size found on disk is not rewritten at the start: a start should write nothing. The
      // first write does so if it must.
      rewrite_at_(options_.rewrite_bytes),
      seen_(See(*journal_)) {}

void JournalWriter::Append(std::string record) {
  // Memory must not grow for as long as a disk hangs or stays full.
  const std::size_t bytes = kFrameBytes + record.size();
  if (pending_bytes() + bytes > Journal::kPendingBytesMax) {
    incomplete_ = true;
    return;
  }
  taken_bytes_ += bytes;
  taken_.push_back(std::move(record));
}

void JournalWriter::Sync(Done done) {
  asked_.push_back(std::move(done));
  if (!busy_) Begin();
}

void JournalWriter::Begin() {
  busy_ = true;
  writing_ = std::exchange(asked_, {});
  auto write = std::make_unique<Write>();
  write->journal = std::move(journal_);
  write->records = std::exchange(taken_, {});
  write->must_rewrite = std::exchange(incomplete_, false);
  if (write->must_rewrite || pending_bytes() + bytes() > rewrite_at_) {
    write->rewrite = options_.lines();
  }
  seen_.pending_bytes += std::exchange(taken_bytes_, 0);
  if (options_.disk == nullptr) {
    write->Run();
    return End(*write);
  }
  // The work owns it until `done` has returned; when this writer has gone, until the work ends.
  Write& lent = *write;
  RunFor(
      liveness_, *options_.disk,
      [write = std::move(write)] {
        write->Run();
        return write->status;
      },
      [this, &lent](const Status&) { End(lent); });
}

void JournalWriter::End(Write& write) {
  journal_ = std::move(write.journal);
  seen_ = write.seen;
  if (write.must_rewrite && !write.rewritten) incomplete_ = true;
  if (write.rewrite) {
    // Far enough off that neither much that is kept nor a full disk makes every write a rewrite.
    rewrite_at_ =
        std::max(options_.rewrite_bytes, write.rewritten ? 2 * bytes() : bytes() + bytes() / 4);
  }
  const Liveness::Watch watch(liveness_);
  const Status status = write.status;
  for (const Done& done : std::exchange(writing_, {})) {
    done(status);
    if (!watch.alive()) return;
  }
  busy_ = false;
  if (!asked_.empty()) Begin();
}

}  // namespace galen::history
