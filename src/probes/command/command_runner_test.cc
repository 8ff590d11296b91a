#include "probes/command/command_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "base/process_handle.h"
#include "probes/command/fake_command_runner.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using How = CommandEnd::How;

// What all CommandRunners promise: one suite, run on processes and on the fake.

// The script prints and exits as it is told, once the pipe of its run is closed.
struct ProcessPlace {
  void Begin(const std::string& prints, int code, std::function<void(const CommandEnd&)> done) {
    const std::string pipe = directory.Path(std::to_string(pipes.size()));
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    runner->Run(
        {.command = {"/bin/sh", "-c",
                     "read line <" + pipe + "; " + prints + "; exit " + std::to_string(code)},
         .timeout = 30s,
         .cpu = 10s},
        std::move(done));
    pipes.push_back(pipe);
  }
  void LetEnd(std::size_t index) {
    // Waits for the script to read.
    const Fd fd(::open(pipes.at(index).c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.get() >= 0);
  }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) {
      const Timer turn = loop->After(1ms, [this] { loop->Stop(); });
      loop->Run();
    }
    ASSERT_TRUE(done());
  }
  std::string Long() const { return "head -c 100000 /dev/zero | tr '\\0' x"; }
  std::string Short() const { return "echo fan 2 stands"; }

  const TemporaryDirectory directory;
  std::vector<std::string> pipes{};
  const std::unique_ptr<EpollLoop> loop = *EpollLoop::Create();
  std::unique_ptr<CommandRunner> runner = MakeCommandRunner(*loop);
};

struct ScriptedPlace {
  void Begin(const std::string& prints, int code, std::function<void(const CommandEnd&)> done) {
    ends.push_back({.number = code, .output = prints});
    runner->Run({.command = {"/check"}}, std::move(done));
  }
  void LetEnd(std::size_t index) { runner->End(index, ends.at(index)); }
  void RunUntil(const std::function<bool()>& done) { ASSERT_TRUE(done()); }
  std::string Long() const { return std::string(100'000, 'x'); }
  std::string Short() const { return "fan 2 stands\n"; }

  std::vector<CommandEnd> ends{};
  std::unique_ptr<FakeCommandRunner> runner = std::make_unique<FakeCommandRunner>();
};

template <typename Place>
class CommandRunnerContract : public ::testing::Test {
 protected:
  // Notes how it ended.
  std::function<void(const CommandEnd&)> Note() {
    return [this](const CommandEnd& end) { ends_.push_back(end); };
  }
  void WaitForEnds(std::size_t count) {
    place_.RunUntil([&] { return ends_.size() >= count; });
  }

  Place place_;
  std::vector<CommandEnd> ends_;
};

using CommandPlaces = ::testing::Types<ProcessPlace, ScriptedPlace>;
TYPED_TEST_SUITE(CommandRunnerContract, CommandPlaces);

TYPED_TEST(CommandRunnerContract, GivesExitCodeAndOutputOnceAndNeverWithinRun) {
  this->place_.Begin(this->place_.Short(), 1, this->Note());
  EXPECT_TRUE(this->ends_.empty());
  this->place_.LetEnd(0);
  this->WaitForEnds(1);
  ASSERT_EQ(this->ends_.size(), 1u);
  EXPECT_EQ(this->ends_[0].how, How::kExited);
  EXPECT_EQ(this->ends_[0].number, 1);
  EXPECT_EQ(this->ends_[0].output, "fan 2 stands\n");
}

TYPED_TEST(CommandRunnerContract, OfALongOutputTheBeginIsKept) {
  this->place_.Begin(this->place_.Long(), 0, this->Note());
  this->place_.LetEnd(0);
  this->WaitForEnds(1);
  EXPECT_EQ(this->ends_[0].output, std::string(kCommandOutputBytesMax, 'x'));
}

TYPED_TEST(CommandRunnerContract, SeveralRunAtATimeAndEndInAnyOrder) {
  for (int code = 0; code < 3; ++code) {
    this->place_.Begin(this->place_.Short(), code, this->Note());
  }
  for (const std::size_t next : {2u, 0u, 1u}) {
    const std::size_t before = this->ends_.size();
    this->place_.LetEnd(next);
    this->WaitForEnds(before + 1);
  }
  EXPECT_EQ(this->ends_[0].number, 2);
  EXPECT_EQ(this->ends_[1].number, 0);
  EXPECT_EQ(this->ends_[2].number, 1);
}

TYPED_TEST(CommandRunnerContract, WhoIsToldOfAnEndMayRunAnother) {
  this->place_.Begin(this->place_.Short(), 0, [this](const CommandEnd& end) {
    this->ends_.push_back(end);
    this->place_.Begin(this->place_.Short(), 7, this->Note());
  });
  this->place_.LetEnd(0);
  this->WaitForEnds(1);
  this->place_.LetEnd(1);
  this->WaitForEnds(2);
  EXPECT_EQ(this->ends_[1].number, 7);
}

TYPED_TEST(CommandRunnerContract, WhoIsToldOfAnEndMayDestroyItAndHearsOfNoOther) {
  int others = 0;
  this->place_.Begin(this->place_.Short(), 0, [this](const CommandEnd& end) {
    this->place_.runner.reset();
    this->ends_.push_back(end);
  });
  this->place_.Begin(this->place_.Short(), 0, [&](const CommandEnd&) { ++others; });
  this->place_.LetEnd(0);
  this->WaitForEnds(1);
  EXPECT_EQ(this->ends_[0].output, "fan 2 stands\n");
  EXPECT_EQ(others, 0);
}

// What only processes do.

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
    const Fd pidfd = OpenProcess(std::stoi(pid));
    pollfd watched{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    return !pidfd || ::poll(&watched, 1, 5000) == 1;
  }

  const std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
  std::unique_ptr<CommandRunner> runner_ = MakeCommandRunner(*loop_);
};

TEST_F(CommandRunnerTest, ACommandIsGivenAnEnvironmentOfOurChoiceAndNoInput) {
  EXPECT_EQ(Run("echo $LC_ALL; echo \"$HOME\"; pwd; cat").output, "C\n\n/\n");
}

TEST_F(CommandRunnerTest, AProgramThatIsNotThereOrMayNotRunIsSaidSo) {
  const CommandEnd missing = RunCommand({"/no/such/check"});
  EXPECT_EQ(missing.how, How::kNotStarted);
  EXPECT_THAT(missing.error, ::testing::HasSubstr("/no/such/check"));
  EXPECT_EQ(RunCommand({"/etc/passwd"}).how, How::kNotStarted);
}

// As the guide has it (docs/guide/health-in-20-lines.md).
TEST_F(CommandRunnerTest, WhetherANodeIsThereTestSaysByItsExitCode) {
  EXPECT_EQ(RunCommand({"/usr/bin/test", "-c", "/dev/null"}).number, 0);
  const CommandEnd missing = RunCommand({"/usr/bin/test", "-c", "/dev/no-such-node"});
  EXPECT_EQ(missing.how, How::kExited);
  EXPECT_EQ(missing.number, 1);
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

TEST_F(CommandRunnerTest, AFloodIsKilled) { EXPECT_EQ(Run("yes").how, How::kFlooded); }

TEST_F(CommandRunnerTest, ACommandThatSpinsIsEndedAtItsLimit) {
  // On a busy machine a second of a processor takes minutes.
  const CommandEnd end = Run("while :; do :; done", 10min, 1s);
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

// Control groups as plain files, in which the script writes what the kernel would: how the kernel
// keeps the limits is seen by the end-to-end tests.
class GroupedCommandTest : public CommandRunnerTest {
 protected:
  GroupedCommandTest() {
    std::ofstream(directory_.Path("own")) << "5:memory:/\n4:pids:/\n3:cpu:/\n";
    for (const char* tree : {"memory", "pids", "cpu"}) {
      std::filesystem::create_directories(directory_.Path(tree));
    }
    runner_ = MakeCommandRunner(
        *loop_,
        MakeCommandGroups({.cgroup_root = directory_.path(), .own_groups = directory_.Path("own")}),
        log_);
  }
  std::string Group(const std::string& tree, int run = 0) const {
    return directory_.Path(fmt::format("{}/galen-commands-{}/run-{}", tree, ::getpid(), run));
  }
  static std::string TextOf(const std::string& path) {
    const StatusOr<std::string> text = PosixFileSystem().Read(path);
    return text.ok() ? *text : "none";
  }

  // Waits for what is done right after the start.
  const std::string confined_ = "until [ $(ulimit -d) != unlimited ]; do :; done; ";
  const TemporaryDirectory directory_;
  std::vector<std::string> lines_;  // of the log
  Log log_{LogLevel::kInfo, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(GroupedCommandTest, ARunHasAGroupOfItsOwnWithLimits) {
  const CommandEnd end = Run("echo $$");
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_EQ(TextOf(Group("memory") + "/memory.limit_in_bytes"),
            std::to_string(kCommandMemoryBytesMax));
  EXPECT_EQ(TextOf(Group("pids") + "/pids.max"), std::to_string(kCommandProcessesMax));
  EXPECT_EQ(TextOf(Group("cpu") + "/cpu.cfs_quota_us"), "100000");
}

TEST_F(GroupedCommandTest, WhatMetItsLimitOfMemoryIsSaidSoWhateverItExitsWith) {
  const std::string event = "echo oom_kill 1 >" + Group("memory") + "/memory.oom_control; exit 1";
  EXPECT_EQ(Run(event).how, How::kOutOfMemory);
  EXPECT_EQ(Run("exit 1").how, How::kExited) << "the next one has a group of its own";
}

TEST_F(GroupedCommandTest, WhatMetItsLimitOfProcessesAndFailedIsSaidSo) {
  const std::string event = "echo max 3 >" + Group("pids") + "/pids.events";
  EXPECT_EQ(Run(event + "; exit 1").how, How::kOutOfProcesses);
  EXPECT_EQ(Run("echo max 3 >" + Group("pids", 1) + "/pids.events; exit 0").how, How::kExited)
      << "it did without";
}

TEST_F(GroupedCommandTest, WhatLeavesTheSessionEndsByItsGroup) {
  const CommandEnd end = Run(confined_ + "setsid sleep 60 >/dev/null & echo $! | tee " +
                             Group("memory") + "/cgroup.procs");
  EXPECT_TRUE(Ends(end.output));
}

TEST_F(GroupedCommandTest, OfALimitThatIsRefusedTheLogSaysOnceAndTheOthersHold) {
  for (const int run : {0, 1}) {
    std::filesystem::create_directories(Group("cpu", run) + "/cpu.cfs_quota_us");
    EXPECT_EQ(Run("exit 0").how, How::kExited);
    EXPECT_EQ(TextOf(Group("pids", run) + "/pids.max"), std::to_string(kCommandProcessesMax));
  }
  EXPECT_THAT(lines_, ::testing::ElementsAre(::testing::HasSubstr("refused")));
}

// These groups always stay, as those with a process that the kernel does not let go.
TEST_F(GroupedCommandTest, WhatIsFoundInAGroupAfterItsRunEndsAtTheNext) {
  Run("exit 0");
  FILE* const start = ::popen("sleep 60 >/dev/null & echo $!", "r");
  char left[32] = "";
  EXPECT_NE(std::fgets(left, sizeof(left), start), nullptr);
  ::pclose(start);
  std::ofstream(Group("memory") + "/cgroup.procs") << left;
  Run("exit 0");
  EXPECT_TRUE(Ends(left));
}

TEST_F(GroupedCommandTest, OfManyGroupsThatStayTheLogSaysOnce) {
  for (int run = 0; run < 64; ++run) Run("exit 0");
  EXPECT_THAT(lines_, ::testing::IsEmpty());
  EXPECT_EQ(Run("exit 3").number, 3);
  Run("exit 0");
  EXPECT_THAT(lines_, ::testing::ElementsAre(::testing::HasSubstr("cannot be killed")));
}

// On this machine's own groups of version 1, where it has some for us.
TEST_F(CommandRunnerTest, WhatRunsWhenItsRunnerGoesLeavesNoGroupInAnyTree) {
  auto groups = MakeCommandGroups();
  if (!groups->usable() || !groups->limitation().empty()) {
    fmt::print("not tried, only with plain files: {}\n", groups->limitation());
    return;
  }
  const std::string first = groups->Make("run-0", {}).value().directory;
  const std::vector<std::string> files = groups->JoinFiles(first);
  groups->Remove(first);
  runner_ = MakeCommandRunner(*loop_, std::move(groups));
  runner_->Run({.command = {"/bin/sleep", "60"}, .timeout = 60s, .cpu = 1s},
               [](const CommandEnd&) {});
  std::string members;
  for (int turns = 0; turns < 10'000 && members.empty(); ++turns) {
    const Timer turn = loop_->After(1ms, [this] { loop_->Stop(); });
    loop_->Run();
    members = PosixFileSystem().Read(files.back()).value();
  }
  ASSERT_NE(members, "");
  runner_.reset();
  for (const std::string& file : files) {
    const auto all_groups = std::filesystem::path(file).parent_path().parent_path();
    EXPECT_FALSE(std::filesystem::exists(all_groups)) << all_groups;
  }
}

TEST_F(GroupedCommandTest, WithoutGroupsARunHasTheLimitsOfEachOfItsProcesses) {
  EXPECT_EQ(Run(confined_ + "ulimit -d").output, std::to_string((256 << 20) / 1024) + "\n")
      << "files without a kernel take no process in";
}

}  // namespace
}  // namespace galen::probes
