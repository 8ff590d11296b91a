#include "agent/containers/process_keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>

#include "base/loop/epoll_loop.h"
#include "base/process_handle.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ProcessKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    keeper_->Watch(
        *loop_,
        [this](std::uint64_t id, int status) {
          ends_[id] = status;
          loop_->Stop();
        },
        [this](const std::string& how) {
          lost_ = how;
          loop_->Stop();
        });
  }
  StatusOr<std::uint64_t> Run(const std::string& script, const std::string& directory = "/") {
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    return keeper_->Run({.id = "u.main.0",
                         .command = {"sh", "-c", script},
                         .environment = {"PATH=/usr/bin:/bin"},
                         .working_directory = directory},
                        null.get(), "");
  }
  // Until a report, or for 20 s.
  void Wait() {
    const Timer limit = loop_->After(20s, [this] { loop_->Stop(); });
    loop_->Run();
  }
  // What a descriptor of the keeper is open on, by its number.
  std::map<std::string, std::string> DescriptorsOfKeeper() const {
    std::map<std::string, std::string> found;
    const std::string folder = "/proc/" + std::to_string(keeper_->pid()) + "/fd";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      found[entry.path().filename()] = std::filesystem::read_symlink(entry.path());
    }
    return found;
  }

  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  // One that anybody would inherit.
  Fd inherited_{::open("/dev/zero", O_RDONLY)};
  std::unique_ptr<ProcessKeeper> keeper_ = ProcessKeeper::Start().value();
  std::map<std::uint64_t, int> ends_;
  std::optional<std::string> lost_;
};

TEST(WhyNoKeeper, SaysOfAnOldKernelAndOfASandboxWhatToDo) {
  const Status old = WhyNoKeeper(ENOSYS);
  EXPECT_EQ(old.code(), Code::kUnimplemented);
  EXPECT_THAT(old.message(), HasSubstr("Linux 5.9 or newer"));
  EXPECT_THAT(old.message(), HasSubstr("update the node's kernel"));
  const Status refused = WhyNoKeeper(EPERM);
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_THAT(refused.message(), HasSubstr("seccomp"));
  EXPECT_EQ(WhyNoKeeper(EMFILE).code(), Code::kResourceExhausted);
}

TEST_F(ProcessKeeperTest, ReportsHowEachProcessEnded) {
  const std::uint64_t first = Run("exit 3").value();
  while (!ends_.contains(first)) Wait();
  EXPECT_EQ(WEXITSTATUS(ends_[first]), 3);
  const std::uint64_t second = Run("exec sleep 600").value();
  EXPECT_NE(first, second);
  keeper_->Signal(second, SIGTERM);
  while (!ends_.contains(second)) Wait();
  EXPECT_EQ(WTERMSIG(ends_[second]), SIGTERM);
  keeper_->Signal(second, SIGTERM);
  EXPECT_TRUE(Run("exit 0").ok()) << "a signal to what has ended does nothing";
}

TEST_F(ProcessKeeperTest, HoldsNoDescriptorOfTheAgent) {
  ASSERT_TRUE(Run("exec sleep 600").ok());
  const auto found = DescriptorsOfKeeper();
  // Standard input, output and error, its socket, the signals of its children.
  EXPECT_EQ(found.size(), 5U) << ::testing::PrintToString(found);
  for (const char* number : {"0", "1", "2"}) EXPECT_EQ(found.at(number), "/dev/null");
}

TEST_F(ProcessKeeperTest, ItsProcessesHoldNothingButTheirOwn) {
  const std::uint64_t id = Run("for fd in /proc/$$/fd/*; do test -e $fd && open=$open.; done; "
                               "test $open = ...")
                               .value();
  while (!ends_.contains(id)) Wait();
  EXPECT_EQ(ends_[id], 0);
}

TEST_F(ProcessKeeperTest, GoesOnWhenItIsAskedToStopAsTheAgentIs) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::kill(keeper_->pid(), signal);
  const std::uint64_t id = Run("kill -TERM $$").value();
  while (!ends_.contains(id)) Wait();
  EXPECT_EQ(WTERMSIG(ends_[id]), SIGTERM) << "what it starts does not ignore them";
}

TEST_F(ProcessKeeperTest, SaysThatItWasKilledAndStartsNothingAfterwards) {
  ASSERT_TRUE(Run("exec sleep 600").ok());
  ::kill(keeper_->pid(), SIGKILL);
  Wait();
  ASSERT_TRUE(lost_);
  EXPECT_EQ(*lost_, "signal 9");
  const Status refused = Run("exit 0").status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("restart the agent"));
}

TEST_F(ProcessKeeperTest, APlanLargerThanASocketTakesArrivesWhole) {
  // Linux's bound of one argument is 128 KiB.
  ContainerCommand command{.id = "u.main.0",
                           .command = {"sh", "-c", "test ${#9} = 100000", "sh"},
                           .environment = {"PATH=/usr/bin:/bin"},
                           .working_directory = "/"};
  command.command.insert(command.command.end(), 9, std::string(100'000, 'x'));
  const std::uint64_t id = keeper_->Run(command, 1, "").value();
  while (!ends_.contains(id)) Wait();
  EXPECT_EQ(ends_[id], 0);
}

TEST_F(ProcessKeeperTest, WhatDoesNotRunInTimeIsKilledWhenItCouldRun) {
  keeper_ = ProcessKeeper::Start(20ms).value();
  SetUp();
  ::kill(keeper_->pid(), SIGSTOP);
  EXPECT_EQ(Run("exec sleep 600").status().code(), Code::kDeadlineExceeded);
  ::kill(keeper_->pid(), SIGCONT);
  Wait();
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(WTERMSIG(ends_.begin()->second), SIGKILL);
}

TEST_F(ProcessKeeperTest, AKeeperThatTakesNothingAnyMoreIsLost) {
  ::kill(keeper_->pid(), SIGSTOP);
  // As many as its socket holds.
  for (int i = 0; i < 10'000; ++i) keeper_->Signal(1, SIGTERM);
  Wait();
  EXPECT_TRUE(lost_);
}

TEST_F(ProcessKeeperTest, ItsEndTakesDaemonsAlong) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read(ends[0]);
  Fd write(ends[1]);
  ASSERT_TRUE(
      keeper_
          ->Run({.id = "u.main.0",
                 .command = {"sh", "-c", "(setsid sh -c 'echo $$; exec sleep 600' &); sleep 600"},
                 .environment = {"PATH=/usr/bin:/bin"},
                 .working_directory = "/"},
                write.get(), "")
          .ok());
  write.Reset();
  char text[16] = {};
  ASSERT_GT(::read(read.get(), text, sizeof(text) - 1), 0);
  const Fd daemon = OpenProcess(std::atoi(text));
  ASSERT_TRUE(daemon);
  keeper_.reset();
  pollfd gone{daemon.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&gone, 1, 0), 1) << "it is gone by then";
}

}  // namespace
}  // namespace galen::agent
