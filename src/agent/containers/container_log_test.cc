#include "agent/containers/container_log.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

class ContainerLogTest : public ::testing::Test {
 protected:
  ContainerLogTest() { EXPECT_TRUE(files_.MakeDirectories("/c", 0700).ok()); }

  std::string Written() {
    const auto read = files_.Read("/c/log");
    return read.ok() ? *read : "nothing";
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  FakeDiskQueue disk_;
  std::size_t lost_ = 0;  // bytes
  std::string why_;       // they were lost last
  bool held_ = false;
  std::optional<ContainerLog> log_{std::in_place, ContainerLog::Edges{loop_, files_, disk_},
                                   "/c/log",
                                   ContainerLog::Events{
                                       .hold = [this](bool hold) { held_ = hold; },
                                       .lost =
                                           [this](std::size_t bytes, const Status& why) {
                                             lost_ += bytes;
                                             why_ = why.message();
                                           },
                                   }};
};

TEST_F(ContainerLogTest, KeepsAtMostTwoFilesOfTheBound) {
  const std::string piece(ContainerLog::kBytesMax / 2, 'x');
  for (int i = 0; i < 7; ++i) log_->Append(piece);
  EXPECT_EQ(files_.Read("/c/log")->size(), ContainerLog::kBytesMax / 2);
  EXPECT_EQ(files_.Read("/c/log.1")->size(), ContainerLog::kBytesMax);
  EXPECT_EQ(files_.List("/c")->size(), 2u);
  EXPECT_EQ(lost_, 0u);
}

TEST_F(ContainerLogTest, GoesOnWhereAnAgentBeforeLeftIt) {
  log_->Append("one\n");
  ContainerLog next({loop_, files_, disk_}, "/c/log", {});
  next.Append("two\n");
  EXPECT_EQ(Written(), "one\ntwo\n");
  EXPECT_EQ(next.Tail(), "two") << "its own run's only";
}

TEST_F(ContainerLogTest, WhatComesWhileTheDiskHangsIsOneMoreWrite) {
  disk_.Hang();
  log_->Append("one\n");
  log_->Append("two\n");
  log_->Append("three\n");
  EXPECT_EQ(disk_.waiting(), 1u);
  EXPECT_EQ(Written(), "nothing");
  EXPECT_EQ(log_->Tail(), "one\ntwo\nthree") << "it is known without the disk";
  EXPECT_TRUE(log_->busy());
  disk_.GoOn();
  EXPECT_EQ(Written(), "one\ntwo\nthree\n");
  EXPECT_FALSE(log_->busy());
  EXPECT_EQ(lost_, 0u);
}

TEST_F(ContainerLogTest, WhileTheDiskHangsMemoryIsBoundedAndWhatIsLostIsCounted) {
  disk_.Hang();
  const std::string piece(std::size_t{16} << 10, 'x');
  log_->Append("first\n");
  for (int i = 0; i < 100; ++i) log_->Append(piece);
  EXPECT_EQ(lost_, 100 * piece.size() - ContainerLog::kWaitingBytesMax);
  EXPECT_EQ(why_, "the disk hangs, or is slower than the output");
  disk_.GoOn();
  EXPECT_EQ(Written().size(), 6 + ContainerLog::kWaitingBytesMax);
  log_->Append("after\n");
  EXPECT_TRUE(Written().ends_with("xafter\n"));
}

// As with a file that the container itself writes to.
TEST_F(ContainerLogTest, AContainerThatIsFasterThanTheDiskWaitsForIt) {
  disk_.Hang();
  log_->Append("first\n");
  log_->Append(std::string(ContainerLog::kHoldBytes, 'x'));
  EXPECT_FALSE(held_);
  log_->Append("x");
  EXPECT_TRUE(held_);
  loop_.Advance(ContainerLog::kHoldMax / 2);
  EXPECT_TRUE(held_);
  disk_.GoOn();
  EXPECT_FALSE(held_);
  EXPECT_EQ(lost_, 0u);
}

TEST_F(ContainerLogTest, ADiskThatHangsDoesNotStopTheContainer) {
  disk_.Hang();
  const std::string much(ContainerLog::kHoldBytes + 1, 'x');
  log_->Append("first\n");
  log_->Append(much);
  loop_.Advance(ContainerLog::kHoldMax);
  EXPECT_FALSE(held_);
  log_->Append(much);
  EXPECT_FALSE(held_) << "the disk is known to hang";
  EXPECT_EQ(lost_, much.size());
  // It went on: the next write that lasts is waited for again.
  disk_.GoOn();
  disk_.Hang();
  log_->Append("second\n");
  log_->Append(much);
  EXPECT_TRUE(held_);
}

TEST_F(ContainerLogTest, ANewRunIsNotHeldForTheOneBefore) {
  disk_.Hang();
  log_->Append("first\n");
  log_->Append(std::string(ContainerLog::kHoldBytes + 1, 'x'));
  log_->BeginRun();
  held_ = false;  // its process is another
  log_->Append("y");
  EXPECT_TRUE(held_) << "what waits is still much";
}

TEST_F(ContainerLogTest, AWriteUnderWayOutlivesTheLogAndWhatWaitsDoesNot) {
  disk_.Hang();
  log_->Append("one\n");
  log_->Append("two\n");
  log_.reset();
  disk_.GoOn();
  EXPECT_EQ(Written(), "one\n");
}

TEST_F(ContainerLogTest, ItsTailIsTheLastLinesOfThisRun) {
  for (int i = 0; i < 200; ++i) log_->Append(std::to_string(i) + "\n");
  const std::string tail = log_->Tail();
  EXPECT_EQ(std::count(tail.begin(), tail.end(), '\n'), 79);
  EXPECT_TRUE(tail.starts_with("120\n"));
  EXPECT_TRUE(tail.ends_with("\n199"));
  log_->BeginRun();
  EXPECT_EQ(log_->Tail(), "");
  log_->Append("short");
  EXPECT_EQ(log_->Tail(), "short");
}

TEST_F(ContainerLogTest, ItsTailIsBoundedInBytes) {
  log_->Append(std::string(10'000, 'x'));
  EXPECT_EQ(log_->Tail().size(), ContainerLog::kTailBytesMax);
}

TEST_F(ContainerLogTest, AFullDiskCostsLinesAndNotTheTail) {
  files_.FailWrites(ResourceExhausted("disk full"));
  log_->Append("lost\n");
  EXPECT_EQ(lost_, 5u);
  EXPECT_EQ(log_->Tail(), "lost");
  files_.FailWrites(std::nullopt);
  log_->Append("lost\n");
  EXPECT_EQ(lost_, 10u) << "the disk is left alone";
  EXPECT_EQ(Written(), "nothing");
  loop_.Advance(ContainerLog::kTryAgain);
  log_->Append("kept\n");
  EXPECT_NE(Written().find("kept"), std::string::npos);
  EXPECT_EQ(lost_, 10u);
}

// A container that floods must not make the agent read and sync for each piece of output.
TEST_F(ContainerLogTest, AFullDiskIsNotAskedForEachPiece) {
  log_->Append("one\n");
  files_.FailWrites(ResourceExhausted("disk full"));
  log_->Append("lost\n");
  files_.FailWrites(std::nullopt);
  const std::uint64_t writes = files_.writes();
  for (int i = 0; i < 1000; ++i) log_->Append("lost\n");
  EXPECT_EQ(files_.writes(), writes);
  EXPECT_EQ(lost_, 1001 * 5u);
}

TEST_F(ContainerLogTest, WhatWaitedForAWriteThatFailedIsLostWithIt) {
  disk_.Hang();
  log_->Append("one\n");
  log_->Append("two\n");
  files_.FailWrites(ResourceExhausted("disk full"));
  disk_.GoOn();
  EXPECT_EQ(lost_, 8u);
  EXPECT_FALSE(log_->busy());
}

}  // namespace
}  // namespace galen::agent
