#include "history/journal/journal.h"

#include <algorithm>
#include <utility>

#include "base/files/temporary_files.h"
#include "base/text.h"
#include "history/journal/segment.h"

namespace galen::history {
namespace {

constexpr std::string_view kCorruptMark = ".corrupt-";
bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

StatusOr<Journal::Replayed> Journal::Open(FileSystem& files, std::string directory) {
  RETURN_IF_ERROR(Annotate(files.MakeDirectories(directory), "open the journal"));
  Replayed replayed;
  replayed.journal = std::unique_ptr<Journal>(new Journal(files, std::move(directory)));
  RETURN_IF_ERROR(Annotate(replayed.journal->Replay(replayed), "open the journal"));
  return replayed;
}

Status Journal::Replay(Replayed& into) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    // Names that are neither ours nor an atomic write's left-over belong to somebody else and stay.
    if (const auto number = ParseSegmentName(name)) numbers.push_back(*number);
    if (Contains(name, kTemporaryMark)) RETURN_IF_ERROR(files_.Remove(directory_ + "/" + name));
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::uint64_t> replaced;
  for (const std::uint64_t number : numbers) ReplaySegment(number, into, replaced);
  const Status settled = Settle();
  if (!settled.ok()) {
    into.notes.push_back(
        fmt::format("a power cut may lose journal segment {} until the next sync: {}",
                    SegmentName(segments_.back()), settled.message()));
    return OkStatus();
  }
  // Removed only now: until its name was synced, a power cut could have taken the snapshot and left
  // us with neither.
  for (const std::uint64_t older : replaced) {
    if (const Status removed = files_.Remove(PathOf(older)); !removed.ok()) {
      into.notes.push_back(removed.message());
    }
  }
  return OkStatus();
}

// A process that was killed may have left names and bytes that no sync has confirmed. From here on
// they count, so they must not go any more; in a journal that was closed in order this writes
// nothing.
Status Journal::Settle() {
  if (segments_.empty()) return OkStatus();
  const std::string path = PathOf(segments_.back());
  const StatusOr<std::unique_ptr<AppendFile>> last = files_.OpenAppend(path);
  const Status settled = last.ok() ? (*last)->Sync() : last.status();
  if (settled.ok()) return settled;
  // A second sync would prove nothing, so the next one writes them once more, into a new segment. A
  // snapshot's bytes were synced before it had its name.
  const StatusOr<std::string> bytes = files_.Read(path);
  const SegmentContent content = bytes.ok() ? ReadSegment(*bytes) : SegmentContent();
  if (content.kind == SegmentKind::kSnapshot) return settled;
  for (const std::string& record : content.records) RETURN_IF_ERROR(Append(record));
  return settled;
}

void Journal::ReplaySegment(std::uint64_t number, Replayed& into,
                            std::vector<std::uint64_t>& replaced) {
  // Even of a segment that cannot be read: its number must not be used for another.
  last_ = number;
  const std::string name = SegmentName(number);
  const StatusOr<std::string> bytes = files_.Read(PathOf(number));
  if (!bytes.ok()) {
    into.lossy = true;
    into.notes.push_back(fmt::format("journal segment {} cannot be read and is left out: {}", name,
                                     bytes.status().message()));
    return;
  }
  // A crash came between its name and its first bytes. There is nothing to keep, and nothing for a
  // person to see; one that cannot be removed is found again by the next start.
  if (bytes->empty() && files_.Remove(PathOf(number)).ok()) return;
  SegmentContent content = ReadSegment(*bytes);
  if (content.kind == SegmentKind::kSnapshot) {
    // A crash came between the snapshot and the removal of what it replaces.
    replaced.insert(replaced.end(), segments_.begin(), segments_.end());
    segments_.clear();
    into.records.clear();
    bytes_ = 0;
  }
  // Before Quarantine, which takes it out again when nothing good is left of it.
  segments_.push_back(number);
  bytes_ += content.good_bytes;
  std::move(content.records.begin(), content.records.end(), std::back_inserter(into.records));
  if (content.fault.empty()) return;
  into.lossy = true;
  const Status done = Quarantine(name, *bytes, content.good_bytes);
  into.notes.push_back(
      fmt::format("journal segment {} is broken ({}): {} of {} bytes are kept, {}", name,
                  content.fault, content.good_bytes, bytes->size(),
                  done.ok() ? "the whole file is beside it as *.corrupt-N" : done.message()));
}

// Copied, not renamed: were we to end between two steps, a rename would take the good prefix along.
Status Journal::Quarantine(const std::string& name, std::string_view bytes,
                           std::size_t good_bytes) {
  RETURN_IF_ERROR(DropOldestCorrupt());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
  std::string beside;
  for (int n = 1; beside.empty() || std::count(names.begin(), names.end(), beside) != 0; ++n) {
    beside = fmt::format("{}{}{}", name, kCorruptMark, n);
  }
  RETURN_IF_ERROR(files_.WriteAtomically(directory_ + "/" + beside, bytes));
  // From here on the broken file exists twice, so cutting it loses nothing that a person may want
  // to see.
  const std::string path = directory_ + "/" + name;
  if (good_bytes > 0) return files_.WriteAtomically(path, bytes.substr(0, good_bytes));
  segments_.pop_back();
  return files_.Remove(path);
}

// By name, and List is in order: the copy of the oldest segment goes first.
Status Journal::DropOldestCorrupt() {
  ASSIGN_OR_RETURN(std::vector<std::string> names, files_.List(directory_));
  std::erase_if(names, [](const std::string& name) { return !Contains(name, kCorruptMark); });
  for (std::size_t i = 0; i + kCorruptFilesMax <= names.size(); ++i) {
    RETURN_IF_ERROR(files_.Remove(directory_ + "/" + names[i]));
  }
  return OkStatus();
}

Status Journal::Append(std::string_view payload) {
  if (payload.empty() || payload.size() > kRecordBytesMax) {
    return InvalidArgument("append to the journal: a record of {} bytes, 1 to {} fit",
                           payload.size(), kRecordBytesMax);
  }
  // Memory must not grow for as long as a disk stays full. The Store keeps what is refused here and
  // rewrites later.
  if (pending_.size() + payload.size() > kPendingBytesMax) {
    return ResourceExhausted("append to the journal: {} bytes wait for a disk that does not write",
                             pending_.size());
  }
  AppendFrame(pending_, payload);
  ++pending_records_;
  return OkStatus();
}

Status Journal::Sync() {
  if (pending_.empty()) return OkStatus();
  trouble_ = Annotate(WritePending(), "write the journal");
  if (!trouble_.ok()) {
    LeaveSegment();
    return trouble_;
  }
  records_written_ += std::exchange(pending_records_, 0);
  GiveBack(pending_);
  return OkStatus();
}

Status Journal::WritePending() {
  // A new segment after a start, a rewrite or an error: never goes on in a file whose end was not
  // seen to be synced.
  if (!file_) {
    // The number is used up whatever the answer: when the name was made and only its sync failed, a
    // second sync of the same name would prove nothing.
    ++last_;
    StatusOr<std::unique_ptr<AppendFile>> opened = files_.OpenAppend(PathOf(last_));
    if (!opened.ok()) {
      static_cast<void>(files_.Remove(PathOf(last_)));  // at the worst an empty file stays
      return opened.status();
    }
    file_ = *std::move(opened);
    segments_.push_back(last_);
    has_synced_ = false;
  }
  // Header and first records in one write: a file that holds only a header would be useless.
  std::string bytes(has_synced_ ? "" : HeaderOf(SegmentKind::kContinuation));
  bytes += pending_;
  RETURN_IF_ERROR(file_->Append(bytes));
  RETURN_IF_ERROR(file_->Sync());
  has_synced_ = true;
  bytes_ += bytes.size();
  bytes_written_ += bytes.size();
  return OkStatus();
}

// After an error nobody knows where the open segment ends. What was synced in it stays; a segment
// with nothing in it goes, so that a disk that is full for an hour is not filled with names.
void Journal::LeaveSegment() {
  if (!std::exchange(file_, nullptr) || has_synced_) return;
  if (files_.Remove(PathOf(last_)).ok()) segments_.pop_back();
}

Status Journal::Compact(const std::vector<std::string_view>& records) {
  std::string bytes(HeaderOf(SegmentKind::kSnapshot));
  for (const std::string_view record : records) AppendFrame(bytes, record);
  const std::uint64_t number = last_ + 1;
  // This rename is the moment in which the snapshot counts. Before it everything is as it was;
  // after it the older segments are left-overs, whether they are removed now or, after a crash, by
  // the next replay.
  trouble_ = Annotate(files_.WriteAtomically(PathOf(number), bytes), "compact the journal");
  // The next Sync begins a continuation behind the snapshot: a file that was renamed into place is
  // not appended to. After an error the segment before it is not appended to either: when only the
  // last sync failed, the snapshot may appear after a power cut and replace what was written there.
  last_ = number;
  file_ = nullptr;
  if (!trouble_.ok()) {
    // A snapshot that stays does no harm: it holds all that was appended, and later records follow
    // it.
    static_cast<void>(files_.Remove(PathOf(number)));
    return trouble_;
  }
  GiveBack(pending_);
  pending_records_ = 0;
  bytes_ = bytes.size();
  bytes_written_ += bytes.size();
  records_written_ += records.size();
  // A segment that cannot be removed now is ignored from here on, and goes when the journal is
  // opened next.
  for (const std::uint64_t older : std::exchange(segments_, {number})) {
    if (const Status removed = files_.Remove(PathOf(older)); !removed.ok()) trouble_ = removed;
  }
  return OkStatus();
}

std::string Journal::PathOf(std::uint64_t number) const {
  return directory_ + "/" + SegmentName(number);
}

}  // namespace galen::history
