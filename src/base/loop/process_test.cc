#include "base/loop/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/fd.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "base/process_handle.h"

namespace galen {
namespace {

using namespace std::chrono_literals;

struct Ended {
  std::string output;
  Process::Exit exit;
};

class ProcessTest : public testing::Test {
 protected:
  // Runs a line of shell to its end.
  Ended Run(const std::string& line, Process::Options options = {}) {
    Ended ended;
    options.command = {"sh", "-c", line};
    options.on_output = [&](std::string_view bytes) { ended.output += bytes; };
    auto process = Process::Start(*loop_, std::move(options), [&](Process::Exit exit) {
      ended.exit = exit;
      loop_->Stop();
    });
    EXPECT_TRUE(process.ok()) << ToString(process.status());
    if (process.ok()) loop_->Run();
    return ended;
  }

  const std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
};

TEST_F(ProcessTest, ReportsOutputBeforeTheEnd) {
  const Ended ended = Run("echo hello; exit 3");
  EXPECT_EQ(ended.output, "hello\n");
  EXPECT_EQ(ended.exit.code, 3);
  EXPECT_EQ(ended.exit.signal, 0);
}

TEST_F(ProcessTest, LargeOutputComesWhole) {
  EXPECT_EQ(Run("head -c 3000000 /dev/zero").output.size(), 3'000'000u);
}

TEST_F(ProcessTest, SignalThatEndedItIsReported) {
  const Ended ended = Run("kill -TERM $$");
  EXPECT_EQ(ended.exit.signal, SIGTERM);
}

TEST_F(ProcessTest, GrandchildThatKeepsThePipeDoesNotDelayTheEnd) {
  const Ended ended = Run("sleep 30 & echo $!");
  EXPECT_EQ(ended.exit.code, 0);
  const int grandchild = std::stoi(ended.output);
  EXPECT_EQ(::kill(grandchild, SIGKILL), 0);
}

TEST_F(ProcessTest, EnvironmentIsOursWithTheGivenLinesOnTop) {
  EXPECT_EQ(Run("echo $GALEN_A; test -n \"$PATH\" && echo $HOME",
                {.environment = {"GALEN_A=x=y", "HOME=/elsewhere"}})
                .output,
            "x=y\n/elsewhere\n");
}

TEST_F(ProcessTest, StartsInTheDirectoryGiven) {
  EXPECT_EQ(Run("pwd", {.directory = "/proc"}).output, "/proc\n");
}

TEST_F(ProcessTest, OutputAndErrorsGoToAFileWhenOneIsNamed) {
  const TemporaryDirectory directory;
  const Ended ended = Run("echo out; echo err >&2", {.output_path = directory.Path("log")});
  EXPECT_EQ(ended.output, "");
  EXPECT_EQ(*PosixFileSystem().Read(directory.Path("log")), "out\nerr\n");
}

TEST_F(ProcessTest, OutputReachesTheFileWhenOurOwnInputIsClosed) {
  const TemporaryDirectory directory;
  const Fd kept(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  ::close(STDIN_FILENO);
  Run("echo out; cat", {.output_path = directory.Path("log")});
  if (kept) ::dup2(kept.get(), STDIN_FILENO);
  EXPECT_EQ(*PosixFileSystem().Read(directory.Path("log")), "out\n");
}

TEST_F(ProcessTest, StandardInputIsEmpty) { EXPECT_EQ(Run("cat").output, ""); }

TEST_F(ProcessTest, ChildHasDefaultSignalsAndNoDescriptorOfOurs) {
  const auto watch = *SignalWatch::Start(*loop_, [] {});
  const auto mask = [&](const std::string& field) {
    const std::string line = Run("grep '^" + field + ":' /proc/self/status").output;
    return std::stoull(line.substr(line.find('\t')), nullptr, 16);
  };
  constexpr std::uint64_t kUsual = 0x7fffffff;  // above are two that the C library keeps to itself
  EXPECT_EQ(mask("SigBlk"), 0u);
  EXPECT_EQ(mask("SigIgn") & kUsual, 0u);
  const std::string descriptors = Run("ls -l /proc/self/fd").output;
  EXPECT_EQ(descriptors.find("anon_inode"), std::string::npos) << descriptors;
}

// Waits for the end of a process that is no child of ours, 5 s at most.
bool Ends(pid_t pid) {
  const Fd pidfd = OpenProcess(pid);
  pollfd watched{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return !pidfd || ::poll(&watched, 1, 5000) == 1;
}

TEST_F(ProcessTest, ConfinedChildHasNothingOfOurEnvironmentAndErrorsAreDropped) {
  EXPECT_EQ(Run("/usr/bin/env | grep -v -e ^PWD= -e ^SHLVL= -e ^_=; echo no >&2",
                {.environment = {"GALEN_A=x"}, .confinement = Process::Confinement{}})
                .output,
            "GALEN_A=x\n");
}

// On a busy machine it may begin before it is.
TEST_F(ProcessTest, ConfinedChildIsNice) {
  const std::string wanted = std::to_string(std::min(::getpriority(PRIO_PROCESS, 0) + 5, 19));
  EXPECT_EQ(
      Run("until [ $(nice) = " + wanted + " ]; do :; done; exec nice",
          {.environment = {"PATH=/usr/bin:/bin"}, .confinement = Process::Confinement{.nice = 5}})
          .output,
      wanted + "\n");
}

TEST_F(ProcessTest, WhatAConfinedChildLeavesBehindEndsWithIt) {
  const Ended ended = Run("/bin/sleep 30 & echo $!", {.confinement = Process::Confinement{}});
  EXPECT_TRUE(Ends(std::stoi(ended.output)));
}

TEST_F(ProcessTest, SignalReachesTheGrandchildrenOfAConfinedChild) {
  std::string output;
  std::unique_ptr<Process> process;
  process = *Process::Start(*loop_,
                            {.command = {"sh", "-c", "(/bin/sleep 30 & echo $!; wait) & wait"},
                             .on_output =
                                 [&](std::string_view bytes) {
                                   output += bytes;
                                   process->Signal(SIGKILL);
                                 },
                             .confinement = Process::Confinement{}},
                            [&](Process::Exit) { loop_->Stop(); });
  loop_->Run();
  EXPECT_TRUE(Ends(std::stoi(output)));
}

TEST_F(ProcessTest, SignalReachesAConfinedChildThatLeftItsGroup) {
  Process::Exit end;
  std::unique_ptr<Process> process;
  process = *Process::Start(
      *loop_,
      {.command = {"perl", "-e",
                   "setpgrp(0, getpgrp(getppid())) or die; $| = 1; print 1; sleep 10"},
       .on_output = [&](std::string_view) { process->Signal(SIGKILL); },
       .confinement = Process::Confinement{}},
      [&](Process::Exit exit) {
        end = exit;
        loop_->Stop();
      });
  loop_->Run();
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST_F(ProcessTest, ConfinedChildHasItsLimitOfMemoryAndIsTheFirstToEndWithoutAny) {
  // It begins before it has them.
  const Ended ended =
      Run("until read score </proc/$$/oom_score_adj && [ $score = 1000 ]; do :; done; ulimit -d",
          {.confinement = Process::Confinement{.memory_most = 64 << 20}});
  EXPECT_EQ(ended.output, "65536\n");
}

TEST_F(ProcessTest, ConfinedChildThatSpinsIsEndedByItsLimitOfCpu) {
  const Ended ended =
      Run("while :; do :; done", {.confinement = Process::Confinement{.nice = 0, .cpu_most = 1s}});
  EXPECT_EQ(ended.exit.signal, SIGXCPU);
  EXPECT_GE(ended.exit.cpu, 900ms);
}

TEST_F(ProcessTest, ProgramThatIsNotThereIsNotFound) {
  const auto process =
      Process::Start(*loop_, {.command = {"galen-no-such-program"}}, [](Process::Exit) {});
  EXPECT_EQ(process.status().code(), Code::kNotFound);
  EXPECT_NE(process.status().message().find("galen-no-such-program"), std::string::npos);
}

TEST_F(ProcessTest, BadOptionsStartNothing) {
  const auto code = [&](Process::Options options) {
    return Process::Start(*loop_, std::move(options), [](Process::Exit) {}).status().code();
  };
  EXPECT_EQ(code({}), Code::kInvalidArgument);
  EXPECT_EQ(code({.command = {"true"}, .environment = {"NOVALUE"}}), Code::kInvalidArgument);
  EXPECT_EQ(code({.command = {"true"}, .output_path = "/no/such/dir/log"}), Code::kNotFound);
}

TEST_F(ProcessTest, SignalReachesIt) {
  Process::Exit end;
  const auto process =
      *Process::Start(*loop_, {.command = {"sleep", "30"}}, [&](Process::Exit exit) {
        end = exit;
        loop_->Stop();
      });
  process->Signal(SIGTERM);
  loop_->Run();
  EXPECT_EQ(end.signal, SIGTERM);
  process->Signal(SIGTERM);  // ended: nothing to do
}

TEST_F(ProcessTest, DestroyedProcessIsKilledAndReaped) {
  bool notified = false;
  auto process = *Process::Start(*loop_, {.command = {"sleep", "30"}},
                                 [&](Process::Exit) { notified = true; });
  const pid_t pid = process->pid();
  process.reset();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(notified);
}

TEST_F(ProcessTest, ListenersMayDestroyIt) {
  std::unique_ptr<Process> process;
  bool notified_of_end = false;
  const auto destroy = [&](std::string_view) {
    process.reset();
    loop_->Stop();
  };
  process = *Process::Start(*loop_, {.command = {"sh", "-c", "echo x"}, .on_output = destroy},
                            [&](Process::Exit) { notified_of_end = true; });
  loop_->Run();
  EXPECT_FALSE(notified_of_end);
  process = *Process::Start(*loop_, {.command = {"true"}}, [&](Process::Exit) { destroy(""); });
  loop_->Run();
  EXPECT_EQ(process, nullptr);
}

}  // namespace
}  // namespace galen
