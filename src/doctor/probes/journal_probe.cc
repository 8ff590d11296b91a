#include <algorithm>
#include <optional>

#include "doctor/check.h"
#include "doctor/probes/probes.h"
#include "history/journal/segment.h"

namespace galen::doctor {
namespace {

constexpr Duration kSlack = std::chrono::seconds(1);
constexpr std::size_t kJumpsMax = 16;  // the oldest are left out

bool IsStampedByAgent(const history::Record& record) {
  return record.kind == history::Kind::kKept || record.kind == history::Kind::kPublished;
}

std::string Jump(WallTime from, WallTime to) {
  return fmt::format("from {} back by {}", FormatRfc3339(from), ShownTime(from - to));
}

}  // namespace

std::vector<std::string> JumpsOf(const std::vector<history::Record>& records, WallTime now) {
  std::vector<std::string> jumps;
  std::optional<WallTime> last;
  for (const history::Record& record : records) {
    if (!IsStampedByAgent(record)) continue;
    if (last && *last - record.time > kSlack) jumps.push_back(Jump(*last, record.time));
    last = record.time;
  }
  if (last && *last - now > kSlack) jumps.push_back(Jump(*last, now));
  if (jumps.size() > kJumpsMax) jumps.erase(jumps.begin(), jumps.end() - kJumpsMax);
  return jumps;
}

StatusOr<JournalSeen> LookAtJournal(FileSystem& files, const std::string& directory, WallTime now) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  JournalSeen seen;
  std::vector<history::Record> records;
  for (const std::string& name : names) {
    if (name.find(".corrupt-") != std::string::npos) seen.quarantined.push_back(name);
    if (!history::ParseSegmentName(name)) continue;
    const StatusOr<std::string> bytes = files.Read(directory + "/" + name);
    if (bytes.status().code() == Code::kNotFound) continue;  // the agent has rewritten it meanwhile
    if (!bytes.ok()) return bytes.status();
    const history::SegmentContent content = history::ReadSegment(*bytes);
    // A snapshot repeats the earlier records, with their times.
    if (content.kind == history::SegmentKind::kSnapshot) records.clear();
    for (const std::string& line : content.records) {
      if (StatusOr<history::Record> record = history::Decode(line); record.ok()) {
        records.push_back(std::move(*record));
      }
    }
  }
  std::ranges::sort(records, {}, &history::Record::sequence);
  seen.jumps = JumpsOf(records, now);
  return seen;
}

}  // namespace galen::doctor
