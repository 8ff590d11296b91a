#include "agent/containers/container_log.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

class ContainerLogTest : public ::testing::Test {
 protected:
  ContainerLogTest() { EXPECT_TRUE(files_.MakeDirectories("/c", 0700).ok()); }

  FakeLoop loop_;
  FakeFileSystem files_;
  ContainerLog log_{loop_, files_, "/c/log"};
};

TEST_F(ContainerLogTest, KeepsAtMostTwoFilesOfTheBound) {
  const std::string piece(ContainerLog::kBytesMax / 2, 'x');
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(log_.Append(piece).ok());
  EXPECT_EQ(files_.Read("/c/log")->size(), ContainerLog::kBytesMax / 2);
  EXPECT_EQ(files_.Read("/c/log.1")->size(), ContainerLog::kBytesMax);
  EXPECT_EQ(files_.List("/c")->size(), 2u);
}

TEST_F(ContainerLogTest, GoesOnWhereAnAgentBeforeLeftIt) {
  ASSERT_TRUE(log_.Append("one\n").ok());
  ContainerLog next(loop_, files_, "/c/log");
  ASSERT_TRUE(next.Append("two\n").ok());
  EXPECT_EQ(*files_.Read("/c/log"), "one\ntwo\n");
  EXPECT_EQ(next.Tail(), "two") << "its own run's only";
}

TEST_F(ContainerLogTest, ItsTailIsTheLastLinesOfThisRun) {
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(log_.Append(std::to_string(i) + "\n").ok());
  const std::string tail = log_.Tail();
  EXPECT_EQ(std::count(tail.begin(), tail.end(), '\n'), 79);
  EXPECT_TRUE(tail.starts_with("120\n"));
  EXPECT_TRUE(tail.ends_with("\n199"));
  log_.BeginRun();
  EXPECT_EQ(log_.Tail(), "");
  ASSERT_TRUE(log_.Append("short").ok());
  EXPECT_EQ(log_.Tail(), "short");
}

TEST_F(ContainerLogTest, ItsTailIsBoundedInBytes) {
  ASSERT_TRUE(log_.Append(std::string(10'000, 'x')).ok());
  EXPECT_EQ(log_.Tail().size(), ContainerLog::kTailBytesMax);
}

TEST_F(ContainerLogTest, AFullDiskCostsLinesAndNotTheTail) {
  files_.FailWrites(ResourceExhausted("disk full"));
  EXPECT_FALSE(log_.Append("lost\n").ok());
  EXPECT_EQ(log_.Tail(), "lost");
  files_.FailWrites(std::nullopt);
  EXPECT_FALSE(log_.Append("lost\n").ok()) << "the disk is left alone";
  EXPECT_FALSE(files_.Read("/c/log").ok());
  loop_.Advance(ContainerLog::kTryAgain);
  EXPECT_TRUE(log_.Append("kept\n").ok());
  EXPECT_NE(files_.Read("/c/log")->find("kept"), std::string::npos);
}

// A container that floods must not make the agent read and sync for each piece of output.
TEST_F(ContainerLogTest, AFullDiskIsNotAskedForEachPiece) {
  ASSERT_TRUE(log_.Append("one\n").ok());
  files_.FailWrites(ResourceExhausted("disk full"));
  EXPECT_FALSE(log_.Append("lost\n").ok());
  files_.FailWrites(std::nullopt);
  const std::uint64_t writes = files_.writes();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(log_.Append("lost\n").ok());
  EXPECT_EQ(files_.writes(), writes);
}

}  // namespace
}  // namespace galen::agent
