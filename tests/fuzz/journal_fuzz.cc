// What a crash, a bad disk or somebody's editor leaves of a journal.
#include "base/check.h"
#include "base/files/fake_file_system.h"
#include "history/journal/journal.h"
#include "history/journal/segment.h"
#include "history/post_mortem/post_mortem.h"
#include "history/post_mortem/post_mortem_store.h"
#include "history/store/record.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {

namespace {

void ReadPostMortem(std::string_view line) {
  const StatusOr<Json> json = Json::Parse(line);
  if (!json.ok()) return;
  const StatusOr<history::PostMortem> record = history::ToPostMortem(*json);
  if (!record.ok()) return;
  const history::PostMortem bounded = history::Bounded(*record);
  const auto again = history::ToPostMortem(history::ToJson(bounded));
  GALEN_CHECK(again.ok() && *again == bounded);
}

}  // namespace

void FuzzJournal(std::string_view bytes) {
  // Nobody guesses a line's checksum, so the bytes are a line too.
  ReadPostMortem(bytes);
  const history::SegmentContent content = history::ReadSegment(bytes);
  // The good part is what we would have written ourselves.
  if (content.good_bytes > 0) {
    std::string written(history::HeaderOf(content.kind));
    for (const std::string& record : content.records) history::AppendFrame(written, record);
    GALEN_CHECK(written == bytes.substr(0, content.good_bytes));
    GALEN_CHECK(content.fault.empty() == (content.good_bytes == bytes.size()));
  }
  for (const std::string& line : content.records) {
    ReadPostMortem(line);
    const auto record = history::Decode(line);
    if (!record.ok()) continue;
    const history::Record bounded = history::Bounded(*record);
    const auto again = history::Decode(history::Encode(bounded));
    GALEN_CHECK(again.ok() && *again == bounded);
  }
  // A journal that was mended is sound, says the same and takes more.
  FakeFileSystem files;
  Put(files, "/state", history::SegmentName(1), bytes);
  auto first = history::Journal::Open(files, "/state");
  GALEN_CHECK(first.ok() && first->records == content.records);
  GALEN_CHECK(first->journal->Append("more").ok() && first->journal->Sync().ok());
  const auto second = history::Journal::Open(files, "/state");
  GALEN_CHECK(second.ok() && second->notes.empty());
  GALEN_CHECK(second->records.size() == content.records.size() + 1);
  // Post-mortem records are read of any journal, and what is none is passed over.
  Put(files, "/mortems", history::SegmentName(1), bytes);
  GALEN_CHECK(history::PostMortemStore::Open(files, {.directory = "/mortems"}).ok());
}

}  // namespace galen::fuzz
