#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "doctor/probes/probes.h"
#include "history/journal/segment.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const WallTime kStart = *ParseRfc3339("2026-11-21T14:00:00Z");

history::Record At(std::uint64_t sequence, Duration after,
                   history::Kind kind = history::Kind::kKept) {
  return {.sequence = sequence, .time = kStart + after, .kind = kind, .text = "journal"};
}

std::string Segment(history::SegmentKind kind, const std::vector<history::Record>& records) {
  std::string bytes(history::HeaderOf(kind));
  for (const history::Record& record : records) {
    history::AppendFrame(bytes, history::Encode(history::Bounded(record)));
  }
  return bytes;
}

TEST(JournalProbe, AClockThatGoesBackIsSeenInTheAgentsOwnTimes) {
  EXPECT_THAT(JumpsOf({At(1, 10s), At(2, 20s), At(3, 5s), At(4, 6s)}, kStart + 1min),
              ElementsAre("from 2026-11-21T14:00:20Z back by 15s"));
  EXPECT_THAT(JumpsOf({At(1, 10s), At(2, 9500ms)}, kStart + 1min), IsEmpty())
      << "a time service slews";
}

TEST(JournalProbe, TimesOfSignsMayComeInAnyOrder) {
  EXPECT_THAT(JumpsOf({At(1, 20s), At(2, 5s, history::Kind::kSign), At(3, 21s)}, kStart + 1min),
              IsEmpty());
}

TEST(JournalProbe, ARecordOfTheFutureIsAJump) {
  EXPECT_THAT(JumpsOf({At(1, 10min)}, kStart), ElementsAre(HasSubstr("back by 10m")));
}

TEST(JournalProbe, ADirectoryIsReadWholeAndFilesThatWereSetAsideAreNamed) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/g/journal", 0755).ok());
  const auto write = [&](const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(files.WriteAtomically("/g/journal/" + name, bytes, 0600).ok());
  };
  const std::string second =
      Segment(history::SegmentKind::kContinuation, {At(3, 5s), At(4, 6s)}) + "torn";
  write("00000001.segment", Segment(history::SegmentKind::kContinuation, {At(1, 10s), At(2, 20s)}));
  write("00000002.segment", second);
  write("00000002.segment.corrupt-1", "whatever");
  const StatusOr<JournalSeen> seen = LookAtJournal(files, "/g/journal", kStart + 1min);
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_THAT(seen->quarantined, ElementsAre("00000002.segment.corrupt-1"));
  EXPECT_THAT(seen->jumps, ElementsAre(HasSubstr("back by 15s")));
  // A snapshot holds what counts of those before it.
  write("00000003.segment", Segment(history::SegmentKind::kSnapshot, {At(4, 6s), At(5, 30s)}));
  EXPECT_THAT(LookAtJournal(files, "/g/journal", kStart + 1min)->jumps, IsEmpty());
  EXPECT_EQ(LookAtJournal(files, "/g/none", kStart).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::doctor
