#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/app/agent_process.h"
#include "base/fd.h"
#include "base/files/test_temporary_directory.h"

namespace galen::agent {
namespace {

using ::testing::HasSubstr;

TEST(NodeLock, NamesItsHolderToTheSecondAgent) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("lock");
  const auto first = NodeLock::Take(path);
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  const Status second = NodeLock::Take(path).status();
  EXPECT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_THAT(second.message(), HasSubstr("process " + std::to_string(::getpid())));
  EXPECT_THAT(second.message(), HasSubstr(path));
}

TEST(NodeLock, IsFreeAgainWhenItsHolderIsGone) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("lock");
  {
    ASSERT_TRUE(NodeLock::Take(path).ok());
  }
  EXPECT_TRUE(NodeLock::Take(path).ok());
}

// Without a file to lock, as on a disk that was read-only when that agent began.
TEST(NodeLock, AnAgentThatCouldOnlyLockTheDirectoryKeepsOutTheNextThatCanDoMore) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("lock");
  Fd earlier(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(earlier.get(), LOCK_EX | LOCK_NB), 0);
  const Status second = NodeLock::Take(path).status();
  EXPECT_EQ(second.code(), Code::kAlreadyExists) << ToString(second);
  EXPECT_THAT(second.message(), HasSubstr(path));
  earlier.Reset();
  EXPECT_TRUE(NodeLock::Take(path).ok());
}

TEST(NodeLock, AnAgentOfBeforeThatLocksTheFileAloneKeepsOutTheNext) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("lock");
  const Fd earlier(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(earlier.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(NodeLock::Take(path).status().code(), Code::kAlreadyExists);
}

TEST(NodeLock, ASecondAgentOfOneRegistryIsRefusedWhateverItsStateDirectory) {
  const TemporaryDirectory registry;
  auto first = NodeLock::TakeRegistry(registry.path());
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  const Status second = NodeLock::TakeRegistry(registry.path()).status();
  EXPECT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_THAT(second.message(), HasSubstr(registry.path()));
  first->reset();
  EXPECT_TRUE(NodeLock::TakeRegistry(registry.path()).ok());
}

TEST(NodeLock, ARegistryThatIsNotThereYetIsNotLocked) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(NodeLock::TakeRegistry(directory.Path("later")).ok());
}

TEST(NodeLock, SaysWhatItCouldNotOpen) {
  EXPECT_THAT(NodeLock::Take("/nowhere/at/all/lock").status().message(), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace galen::agent
