#include "history/journal/journal_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "history/journal/segment.h"
#include "history/journal/test_synced.h"

namespace galen::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JournalWriterTest : public testing::Test {
 protected:
  void Open(std::size_t rewrite_bytes = 10'000) {
    writer_.reset();
    Journal::Replayed replayed = Journal::Open(files_, "/state").value();
    records_ = std::move(replayed.records);
    writer_.emplace(
        std::move(replayed.journal),
        JournalWriter::Options{
            .disk = &disk_, .rewrite_bytes = rewrite_bytes, .lines = [this] { return lines_; }});
  }
  // As a power cut.
  std::vector<std::string> Survivors() {
    writer_.reset();
    files_.Crash();
    Open();
    return records_;
  }
  JournalWriter::Done Note(std::string name) {
    return [this, name = std::move(name)](const Status& status) {
      answers_.push_back(name + (status.ok() ? "" : " failed"));
    };
  }

  FakeFileSystem files_;
  FakeDiskQueue disk_;
  std::vector<std::string> lines_ = {"all"};
  std::optional<JournalWriter> writer_;
  std::vector<std::string> records_, answers_;
};

TEST_F(JournalWriterTest, WhoAppendsDoesNotWaitForADiskThatHangs) {
  Open();
  disk_.Hang();
  writer_->Append("a");
  writer_->Sync(Note("first"));
  writer_->Append("b");
  writer_->Sync(Note("second"));
  writer_->Sync(Note("third"));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_TRUE(writer_->busy());
  EXPECT_EQ(disk_.waiting(), 1u) << "what comes meanwhile is one more write";
  disk_.GoOn();
  EXPECT_THAT(answers_, ElementsAre("first", "second", "third"));
  EXPECT_FALSE(writer_->busy());
  EXPECT_FALSE(writer_->waits());
  EXPECT_THAT(Survivors(), ElementsAre("a", "b"));
}

TEST_F(JournalWriterTest, WhatIsAskedForInAnAnswerComesAfterTheOthers) {
  Open();
  disk_.Hang();
  writer_->Sync([this](const Status&) {
    answers_.push_back("first");
    writer_->Sync(Note("last"));
  });
  writer_->Sync(Note("second"));
  disk_.GoOn();
  EXPECT_THAT(answers_, ElementsAre("first", "second", "last"));
}

TEST_F(JournalWriterTest, AnAnswerAfterItsEndReachesNobody) {
  Open();
  disk_.Hang();
  writer_->Append("a");
  writer_->Sync(Note("first"));
  writer_.reset();
  disk_.GoOn();
  EXPECT_THAT(answers_, IsEmpty());
  files_.Crash();
  Open();
  EXPECT_THAT(records_, ElementsAre("a")) << "the write itself was done";
}

TEST_F(JournalWriterTest, WhatAHangingDiskHasNoRoomForIsInTheNextRewrite) {
  Open();
  disk_.Hang();
  writer_->Append("a");
  writer_->Sync(Note("first"));
  const std::string large(kRecordBytesMax, 'x');
  const auto left = [this] { return Journal::kPendingBytesMax - writer_->pending_bytes(); };
  while (left() >= kFrameBytes + large.size()) writer_->Append(large);
  writer_->Append(std::string(left() - kFrameBytes, 'x'));
  EXPECT_EQ(left(), 0u);
  writer_->Append("b");
  EXPECT_EQ(left(), 0u);
  EXPECT_TRUE(writer_->waits());
  disk_.GoOn();
  EXPECT_TRUE(Synced(*writer_).ok());
  EXPECT_FALSE(writer_->waits());
  EXPECT_THAT(Survivors(), ElementsAre("all"));
}

TEST_F(JournalWriterTest, WhatTheJournalRefusesIsReportedAndInTheNextRewrite) {
  Open(2 * kRecordBytesMax);
  writer_->Append(std::string(kRecordBytesMax + 1, 'x'));
  EXPECT_EQ(Synced(*writer_).code(), Code::kInvalidArgument);
  EXPECT_TRUE(writer_->waits());
  EXPECT_TRUE(Synced(*writer_).ok());
  EXPECT_THAT(Survivors(), ElementsAre("all"));
}

TEST_F(JournalWriterTest, AWriteThatFailsWaitsForTheNextOne) {
  Open();
  files_.FailWrites(ResourceExhausted("no space left"));
  writer_->Append("a");
  EXPECT_FALSE(Synced(*writer_).ok());
  EXPECT_FALSE(writer_->trouble().ok());
  EXPECT_TRUE(writer_->waits());
  const std::size_t kept = writer_->pending_bytes();
  files_.FailWrites(std::nullopt);
  disk_.Hang();
  writer_->Append("b");
  writer_->Sync(Note("next"));
  EXPECT_EQ(writer_->pending_bytes(), kept + kFrameBytes + 1) << "both wait";
  disk_.GoOn();
  EXPECT_THAT(answers_, ElementsAre("next"));
  EXPECT_THAT(Survivors(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace galen::history
