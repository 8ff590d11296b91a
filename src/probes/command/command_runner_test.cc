#include "probes/command/command_runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using How = CommandEnd::How;

class CommandRunnerTest : public ::testing::Test {
 protected:
  CommandEnd Run(const std::string& script, Duration timeout = 30s, Duration cpu = 10s) {
    return RunCommand({"/bin/sh", "-c", script}, timeout, cpu);
  }
  CommandEnd RunCommand(std::vector<std::string> command, Duration timeout = 30s,
                        Duration cpu = 10s) {
    CommandEnd result;
    runner_->Run({.command = std::move(command), .timeout = timeout, .cpu = cpu},
                 [&](const CommandEnd& end) {
                   result = end;
                   loop_->Stop();
                 });
    loop_->Run();
    return result;
  }
  // Waits for the end of a process that is no child of ours, 5 s at most.
  static bool Ends(const std::string& pid) {
    const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(pid), 0)));
    pollfd watched{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    return !pidfd || ::poll(&watched, 1, 5000) == 1;
  }

  const std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
  const std::unique_ptr<CommandRunner> runner_ = MakeCommandRunner(*loop_);
};

TEST_F(CommandRunnerTest, GivesExitCodeAndOutput) {
  const CommandEnd end = Run("echo fan 2 stands; echo no >&2; exit 1");
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_EQ(end.number, 1);
  EXPECT_EQ(end.output, "fan 2 stands\n");
}

TEST_F(CommandRunnerTest, ACommandIsGivenAnEnvironmentOfOurChoiceAndNoInput) {
  EXPECT_EQ(Run("echo $LC_ALL; echo \"$HOME\"; pwd; cat").output, "C\n\n/\n");
}

TEST_F(CommandRunnerTest, AProgramThatIsNotThereOrMayNotRunIsSaidSo) {
  const CommandEnd missing = RunCommand({"/no/such/check"});
  EXPECT_EQ(missing.how, How::kNotStarted);
  EXPECT_THAT(missing.error, ::testing::HasSubstr("/no/such/check"));
  EXPECT_EQ(RunCommand({"/etc/passwd"}).how, How::kNotStarted);
}

TEST_F(CommandRunnerTest, AtItsTimeoutACommandIsKilledWithItsGrandchildren) {
  const TemporaryDirectory directory;
  const std::string pids = directory.Path("pids");
  const CommandEnd end =
      Run("(sleep 60 & echo $! >" + pids + "; wait) & trap '' TERM; wait; sleep 60", 500ms);
  EXPECT_EQ(end.how, How::kTimedOut);
  EXPECT_TRUE(Ends(*PosixFileSystem().Read(pids)));
}

TEST_F(CommandRunnerTest, WhatACommandLeavesRunningEndsWithIt) {
  const CommandEnd end = Run("sleep 60 >/dev/null & echo $!");
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_TRUE(Ends(end.output));
}

TEST_F(CommandRunnerTest, OfALongOutputTheBeginIsKept) {
  const CommandEnd end = Run("head -c 100000 /dev/zero | tr '\\0' x; exit 1");
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_EQ(end.output, std::string(kCommandOutputBytesMax, 'x'));
}

TEST_F(CommandRunnerTest, AFloodIsKilled) { EXPECT_EQ(Run("yes").how, How::kFlooded); }

TEST_F(CommandRunnerTest, ACommandThatSpinsIsEndedAtItsLimit) {
  const CommandEnd end = Run("while :; do :; done", 60s, 1s);
  EXPECT_EQ(end.how, How::kSignalled);
  EXPECT_EQ(end.number, SIGXCPU);
}

TEST_F(CommandRunnerTest, ACommandThatHangsHoldsUpNoOther) {
  bool hung_ended = false;
  runner_->Run({.command = {"/bin/sleep", "60"}, .timeout = 60s, .cpu = 1s},
               [&](const CommandEnd&) { hung_ended = true; });
  EXPECT_EQ(Run("exit 0").how, How::kExited);
  EXPECT_FALSE(hung_ended);
}

}  // namespace
}  // namespace galen::probes
