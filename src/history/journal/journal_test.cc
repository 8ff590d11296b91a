#include "history/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "history/journal/segment.h"

namespace galen::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

const Status kFull = ResourceExhausted("no space left on device");
constexpr const char* kDirectory = "/state";

class JournalTest : public testing::Test {
 protected:
  // Opens what is on the disk; the records it held are in held_.
  void Open() {
    journal_ = nullptr;
    auto replayed = Journal::Open(files_, kDirectory);
    ASSERT_TRUE(replayed.ok()) << ToString(replayed.status());
    journal_ = std::move(replayed->journal);
    held_ = std::move(replayed->records);
    notes_ = std::move(replayed->notes);
  }
  void Append(const Lines& records) {
    for (const std::string& record : records) ASSERT_TRUE(journal_->Append(record).ok());
  }
  void Write(const Lines& records) {
    Append(records);
    ASSERT_TRUE(journal_->Sync().ok());
  }
  Lines Files() { return *files_.List(kDirectory); }
  std::string Path(std::uint64_t number) {
    return std::string(kDirectory) + "/" + SegmentName(number);
  }

  FakeFileSystem files_;
  std::unique_ptr<Journal> journal_;
  Lines held_;
  Lines notes_;
};

TEST_F(JournalTest, GivesBackWhatWasWrittenInOrder) {
  Open();
  EXPECT_THAT(held_, IsEmpty());
  Write({"a", "b"});
  Write({"c"});
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "b", "c"));
  EXPECT_THAT(notes_, IsEmpty());
  Write({"d"});
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "b", "c", "d"));
}

TEST_F(JournalTest, OneSyncIsOneWriteForAllThatWaits) {
  Open();
  Write({"first"});
  const std::uint64_t before = files_.writes();
  Append({"a", "b", "c"});
  EXPECT_EQ(files_.writes(), before);
  EXPECT_TRUE(journal_->Sync().ok());
  EXPECT_EQ(files_.writes(), before + 2);  // an append and a sync
  EXPECT_TRUE(journal_->Sync().ok());
  EXPECT_EQ(files_.writes(), before + 2);
}

TEST_F(JournalTest, CountsRecordsAndBytes) {
  Open();
  Write({"abc", "d"});
  const std::size_t size = files_.Read(Path(1))->size();
  EXPECT_EQ(journal_->records_written(), 2u);
  EXPECT_EQ(journal_->bytes_written(), size);
  EXPECT_EQ(journal_->bytes(), size);
  Open();
  EXPECT_EQ(journal_->bytes(), size);
  EXPECT_EQ(journal_->records_written(), 0u);
}

TEST_F(JournalTest, CountsAllThatItWroteSinceItWasOpenedAlsoWhatARewriteTookThePlaceOf) {
  Open();
  Write({"abc"});
  Write({"d"});
  const std::size_t before = files_.Read(Path(1))->size();
  EXPECT_EQ(journal_->bytes_written(), before);
  ASSERT_TRUE(journal_->Compact({"abc", "d"}).ok());
  EXPECT_EQ(journal_->bytes(), files_.Read(Path(2))->size());
  EXPECT_EQ(journal_->bytes_written(), before + journal_->bytes());
  EXPECT_EQ(journal_->records_written(), 4u);
}

TEST_F(JournalTest, RecordsHaveABound) {
  Open();
  EXPECT_EQ(journal_->Append("").code(), Code::kInvalidArgument);
  EXPECT_TRUE(journal_->Append(std::string(kRecordBytesMax, 'x')).ok());
  EXPECT_EQ(journal_->Append(std::string(kRecordBytesMax + 1, 'x')).code(), Code::kInvalidArgument);
  EXPECT_TRUE(journal_->Sync().ok());
}

TEST_F(JournalTest, TornTailIsPutBesideAndTheGoodPrefixKept) {
  Open();
  Write({"a", "b"});
  Append({"lost"});
  {
    auto file = *files_.OpenAppend(Path(1));
    std::string torn;
    AppendFrame(torn, "torn");
    ASSERT_TRUE(file->Append(torn.substr(0, torn.size() - 1)).ok());
    ASSERT_TRUE(file->Sync().ok());
  }
  const std::string whole = *files_.Read(Path(1));
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "b"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("00000001.segment is broken (a record is cut off")));
  EXPECT_EQ(*files_.Read(Path(1) + ".corrupt-1"), whole);
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "b"));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(JournalTest, CorruptMiddleLosesOnlyWhatFollowsInItsSegment) {
  Open();
  Write({"a", "b", "c"});
  Open();
  Write({"d"});
  std::string bytes = *files_.Read(Path(1));
  bytes[bytes.find('b')] = 'B';
  ASSERT_TRUE(files_.WriteAtomically(Path(1), bytes, 0600).ok());
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "d"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("checksum is wrong at byte 17")));
}

TEST_F(JournalTest, SegmentThatIsNoneGoesAsAWhole) {
  ASSERT_TRUE(files_.MakeDirectories(kDirectory, 0755).ok());
  ASSERT_TRUE(files_.WriteAtomically(Path(1), "what is this", 0600).ok());
  ASSERT_TRUE(files_.WriteAtomically(Path(2), "GALEN", 0600).ok());
  Open();
  EXPECT_THAT(held_, IsEmpty());
  EXPECT_EQ(notes_.size(), 2u);
  EXPECT_THAT(Files(), ElementsAre("00000001.segment.corrupt-1", "00000002.segment.corrupt-1"));
  Write({"a"});
  Open();
  EXPECT_THAT(held_, ElementsAre("a"));
}

TEST_F(JournalTest, EmptySegmentThatACrashLeftIsRemovedAndNotKeptForAPerson) {
  Open();
  Write({"a"});
  ASSERT_TRUE(files_.OpenAppend(Path(2)).ok());
  Open();
  EXPECT_THAT(held_, ElementsAre("a"));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(Files(), ElementsAre(SegmentName(1)));
  Write({"b"});
  EXPECT_THAT(Files(), ElementsAre(SegmentName(1), SegmentName(3))) << "its number is used up";
}

TEST_F(JournalTest, OnlySoManyBrokenFilesAreKept) {
  ASSERT_TRUE(files_.MakeDirectories(kDirectory, 0755).ok());
  for (std::uint64_t i = 1; i <= Journal::kCorruptFilesMax + 5; ++i) {
    ASSERT_TRUE(files_.WriteAtomically(Path(i), "broken", 0600).ok());
    Open();
  }
  EXPECT_EQ(Files().size(), Journal::kCorruptFilesMax);
  EXPECT_EQ(Files().back(), SegmentName(Journal::kCorruptFilesMax + 5) + ".corrupt-1");
}

TEST_F(JournalTest, SegmentThatCannotBeReadIsLeftAloneAndSaid) {
  ASSERT_TRUE(files_.MakeDirectories(Path(3), 0755).ok());
  Open();
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("00000003.segment cannot be read and is left out")));
  Write({"a"});
  EXPECT_TRUE(files_.Read(Path(4)).ok());
}

TEST_F(JournalTest, FilesOfOthersAreLeftAloneAndUnfinishedOnesGo) {
  ASSERT_TRUE(files_.MakeDirectories(kDirectory, 0755).ok());
  ASSERT_TRUE(files_.WriteAtomically("/state/README", "x", 0600).ok());
  ASSERT_TRUE(files_.WriteAtomically("/state/00000001.segment.tmp-a1B2c3", "x", 0600).ok());
  Open();
  EXPECT_THAT(Files(), ElementsAre("README"));
}

TEST_F(JournalTest, FullDiskIsSaidAndNothingIsLost) {
  Open();
  Write({"a"});
  files_.FailWrites(kFull);
  Append({"b"});
  EXPECT_EQ(journal_->Sync().code(), Code::kResourceExhausted);
  EXPECT_THAT(journal_->trouble().message(), HasSubstr("write the journal: no space left"));
  Append({"c"});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(journal_->Sync().ok());
  files_.FailWrites(std::nullopt);
  EXPECT_TRUE(journal_->Sync().ok());
  EXPECT_TRUE(journal_->trouble().ok());
  files_.Crash();
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "b", "c"));
}

TEST_F(JournalTest, DiskThatIsFullForLongIsNotFilledWithNames) {
  Open();
  files_.FailWrites(kFull, 1);  // a name can be made, bytes cannot
  Append({"a"});
  EXPECT_FALSE(journal_->Sync().ok());
  for (int i = 0; i < 100; ++i) {
    files_.FailWrites(kFull, 1);
    EXPECT_FALSE(journal_->Sync().ok());
  }
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(JournalTest, WhatWaitsHasABoundAndTheRestIsRefused) {
  Open();
  files_.FailWrites(kFull);
  const std::string record(kRecordBytesMax, 'x');
  Status status;
  std::size_t taken = 0;
  for (; status.ok(); ++taken) status = journal_->Append(record);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_LE(journal_->pending_bytes(), Journal::kPendingBytesMax + 8);
  EXPECT_GT(taken, 200u);
  files_.FailWrites(std::nullopt);
  EXPECT_TRUE(journal_->Sync().ok());
  EXPECT_TRUE(journal_->Append(record).ok());
}

TEST_F(JournalTest, CompactReplacesEverything) {
  Open();
  Write({"a", "b"});
  Open();
  Write({"c"});
  Append({"waits"});
  ASSERT_TRUE(journal_->Compact({"abc"}).ok());
  EXPECT_EQ(journal_->pending_bytes(), 0u);
  EXPECT_EQ(Files().size(), 1u);
  EXPECT_EQ(journal_->bytes(), 8 + 8 + 3u);
  Write({"d"});
  Open();
  EXPECT_THAT(held_, ElementsAre("abc", "d"));
}

TEST_F(JournalTest, FailedCompactLeavesEverythingAsItWas) {
  Open();
  Write({"a"});
  Append({"b"});
  files_.FailWrites(kFull);
  EXPECT_FALSE(journal_->Compact({"snapshot"}).ok());
  EXPECT_FALSE(journal_->trouble().ok());
  files_.FailWrites(std::nullopt);
  EXPECT_TRUE(journal_->Sync().ok());
  Open();
  EXPECT_THAT(held_, ElementsAre("a", "b"));
}

TEST_F(JournalTest, SnapshotMakesOlderSegmentsThatACrashLeftCountForNothing) {
  Open();
  Write({"old"});
  std::string snapshot(HeaderOf(SegmentKind::kSnapshot));
  AppendFrame(snapshot, "new");
  ASSERT_TRUE(files_.WriteAtomically(Path(2), snapshot, 0600).ok());
  Open();
  EXPECT_THAT(held_, ElementsAre("new"));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(Files(), ElementsAre(SegmentName(2)));
}

// One life of a journal; what Sync and Compact said was safe is in `safe`.
void Live(Journal& journal, Lines& appended, Lines& safe) {
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 3; ++i) {
      appended.push_back("record " + std::to_string(appended.size()));
      ASSERT_TRUE(journal.Append(appended.back()).ok());
    }
    const Status status =
        round == 3 ? journal.Compact({appended.begin(), appended.end()}) : journal.Sync();
    if (status.ok()) safe = appended;
  }
}

// Records in order of their first coming: one that came twice counts once.
Lines WithoutRepeats(const Lines& records) {
  Lines once;
  for (const std::string& record : records) {
    if (std::count(once.begin(), once.end(), record) == 0) once.push_back(record);
  }
  return once;
}

TEST_F(JournalTest, CrashAtAnyWriteLosesNothingThatWasSafe) {
  bool reached_the_end = false;
  for (std::uint64_t fatal = 0; !reached_the_end; ++fatal) {
    for (const std::size_t torn : {0u, 1u, 7u, 9u, 20u, 1000u}) {
      files_ = FakeFileSystem();
      Lines appended;
      Lines safe;
      Open();
      files_.FailWrites(Unavailable("power is gone"), fatal);
      Live(*journal_, appended, safe);
      reached_the_end = safe.size() == appended.size() && journal_->trouble().ok();
      files_.FailWrites(std::nullopt);
      journal_ = nullptr;
      files_.Crash(torn);
      Open();
      const Lines held = WithoutRepeats(held_);
      ASSERT_LE(safe.size(), held.size()) << "write " << fatal << ", torn " << torn;
      ASSERT_LE(held.size(), appended.size());
      EXPECT_TRUE(std::equal(held.begin(), held.end(), appended.begin()))
          << "write " << fatal << ", torn " << torn;
      // And it goes on from there.
      Write({"afterwards"});
      Open();
      EXPECT_EQ(held_.back(), "afterwards");
      EXPECT_THAT(notes_, IsEmpty());
    }
  }
}

TEST_F(JournalTest, DiskThatRecoversAtAnyPointHasEverything) {
  for (std::uint64_t fatal = 0; fatal < 16; ++fatal) {
    files_ = FakeFileSystem();
    Lines appended;
    Lines safe;
    Open();
    files_.FailWrites(kFull, fatal);
    Live(*journal_, appended, safe);
    files_.FailWrites(std::nullopt);
    EXPECT_TRUE(journal_->Sync().ok());
    Open();
    EXPECT_EQ(WithoutRepeats(held_), appended) << "write " << fatal;
  }
}

TEST_F(JournalTest, CrashWhileABrokenSegmentIsMendedLosesNoneOfItsGoodPrefix) {
  for (std::uint64_t fatal = 0; fatal < 4; ++fatal) {
    files_ = FakeFileSystem();
    Open();
    Write({"a", "b"});
    std::string bytes = *files_.Read(Path(1)) + "garbage";
    ASSERT_TRUE(files_.WriteAtomically(Path(1), bytes, 0600).ok());
    files_.FailWrites(kFull, fatal);
    Open();
    EXPECT_THAT(held_, ElementsAre("a", "b"));
    files_.FailWrites(std::nullopt);
    files_.Crash();
    Open();
    EXPECT_THAT(held_, ElementsAre("a", "b")) << fatal;
  }
}

TEST_F(JournalTest, DirectoryThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(files_.WriteAtomically("/state", "a file", 0600).ok());
  const auto replayed = Journal::Open(files_, kDirectory);
  EXPECT_EQ(replayed.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(replayed.status().message(), HasSubstr("open the journal"));
}

TEST(Journal, WorksOnTheRealDisk) {
  const TemporaryDirectory directory;
  PosixFileSystem files;
  const std::string path = directory.Path("a/b");
  {
    auto opened = Journal::Open(files, path);
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE(opened->journal->Append("a").ok());
    ASSERT_TRUE(opened->journal->Sync().ok());
    ASSERT_TRUE(opened->journal->Compact({"A"}).ok());
    ASSERT_TRUE(opened->journal->Append("b").ok());
    ASSERT_TRUE(opened->journal->Sync().ok());
  }
  EXPECT_THAT(Journal::Open(files, path)->records, ElementsAre("A", "b"));
  EXPECT_THAT(*files.List(path), ElementsAre(SegmentName(2), SegmentName(3)));
}

}  // namespace
}  // namespace galen::history
