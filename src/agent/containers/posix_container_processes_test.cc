#include "agent/containers/posix_container_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "agent/containers/process_search.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "base/process_handle.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Whether the process has ended, or does so soon.
bool Ends(const Fd& pidfd) {
  pollfd end{pidfd.get(), POLLIN, 0};
  return ::poll(&end, 1, 10'000) == 1;
}

std::unique_ptr<PosixContainerProcesses> MakeProcesses(IoLoop& loop, const std::string& directory,
                                                       ControlGroups::Places places = {}) {
  return std::make_unique<PosixContainerProcesses>(loop, NullLog(), ProcessKeeper::Start().value(),
                                                   directory, std::move(places));
}

// No group of the machine is to be had.
ControlGroups::Places NoGroups() { return {.cgroup_root = "/nonexistent", .own_groups = ""}; }

// Real processes of /bin/sh; groups only where this machine gives them.
class PosixContainerProcessesTest : public ::testing::Test {
 protected:
  ContainerCommand Shell(const std::string& script) {
    const std::string home = directory_.path() + "/pod/main";
    std::filesystem::create_directories(home);
    return {.id = "u-1.main.0",
            .command = {"sh", "-c", script},
            .environment = {"PATH=/usr/bin:/bin", "WORD=seen", "GALEN_CONTAINER_DIRECTORY=" + home},
            .working_directory = home};
  }
  // Starts it; false when it could not be.
  Status Start(const ContainerCommand& command) {
    auto process = processes_->Start(
        command, [this](std::string_view bytes) { output_ += bytes; },
        [this](const ProcessEnd& end) {
          end_ = end;
          loop_->Stop();
        });
    if (!process.ok()) return process.status();
    process_ = std::move(process).value();
    return OkStatus();
  }
  void WaitForOutput(const std::string& text) {
    Until([&] { return output_.find(text) != std::string::npos; });
  }
  void WaitForEnd() {
    Until([&] { return end_.has_value(); });
    ASSERT_TRUE(end_);
  }
  void Until(const std::function<bool()>& done) {
    const Time limit = loop_->Now() + 20s;
    while (!done() && loop_->Now() < limit) {
      const Timer tick = loop_->After(5ms, [this] { loop_->Stop(); });
      loop_->Run();
    }
  }
  // Processes that still have this container's mark.
  int Left() const {
    const std::string mark = "GALEN_CONTAINER_DIRECTORY=" + directory_.path() + "/";
    return SignalThese(AllProcesses(), 0, [&](pid_t pid) {
      return HasEnvironmentLine(pid, [&](auto line) { return line.starts_with(mark); });
    });
  }

  TemporaryDirectory directory_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  std::unique_ptr<PosixContainerProcesses> processes_ = MakeProcesses(*loop_, directory_.path());
  std::unique_ptr<ContainerProcess> process_;
  std::string output_;
  std::optional<ProcessEnd> end_;
};

TEST_F(PosixContainerProcessesTest, ReportsOutputAndExitCode) {
  ASSERT_TRUE(Start(Shell("echo $WORD; echo also >&2; pwd; exit 3")).ok());
  WaitForEnd();
  EXPECT_EQ(end_->code, 3);
  EXPECT_EQ(end_->signal, std::nullopt);
  EXPECT_THAT(output_, HasSubstr("seen\nalso\n"));
  EXPECT_THAT(output_, HasSubstr("/pod/main\n"));
}

TEST_F(PosixContainerProcessesTest, HasNothingOfTheAgentsEnvironment) {
  ASSERT_TRUE(Start(Shell("exec env")).ok());
  WaitForEnd();
  EXPECT_EQ(output_.find("HOME="), std::string::npos) << output_;
}

TEST_F(PosixContainerProcessesTest, IsASessionOfItsOwnAndGetsSignalsWhole) {
  // The shell waits for a child, which must get the signal too.
  ASSERT_TRUE(Start(Shell("sleep 60 & echo ready; wait")).ok());
  WaitForOutput("ready");
  process_->Signal(SIGTERM);
  WaitForEnd();
  EXPECT_EQ(end_->signal, SIGTERM);
  Until([&] { return Left() == 0; });
  EXPECT_EQ(Left(), 0);
}

TEST_F(PosixContainerProcessesTest, NothingOutlivesItsFirstProcess) {
  ASSERT_TRUE(Start(Shell("setsid sleep 60 & sleep 60 & exit 0")).ok());
  WaitForEnd();
  EXPECT_EQ(end_->code, 0);
  Until([&] { return Left() == 0; });
  EXPECT_EQ(Left(), 0);
}

// The same by a group of version 2, where this machine has it for us.
TEST_F(PosixContainerProcessesTest, NothingOutlivesItsFirstProcessInAGroupOfVersionTwo) {
  std::ifstream own("/proc/self/cgroup");
  std::ofstream only(directory_.Path("own"));
  for (std::string line; std::getline(own, line);) {
    if (line.starts_with("0::")) only << line << "\n";
  }
  only.close();
  const std::string unified = "/sys/fs/cgroup/unified";
  const bool beside = std::filesystem::exists(unified);  // version 1 has the controllers
  const ControlGroups::Places places{.cgroup_root = beside ? unified : "/sys/fs/cgroup",
                                     .own_groups = directory_.Path("own")};
  const auto processes = MakeProcesses(*loop_, directory_.path(), places);
  // It clears its environment and leaves its session: only a group still knows it, once it has.
  const std::string escape =
      "env -i setsid sleep 61 & echo $! > pid; "
      "until read name < /proc/$!/comm && [ \"$name\" = sleep ]; do :; done; exit 0";
  auto process =
      processes->Start(Shell(escape), [](auto) {}, [this](const ProcessEnd& e) { end_ = e; });
  ASSERT_TRUE(process.ok()) << ToString(process.status());
  WaitForEnd();
  pid_t left = 0;
  std::ifstream(directory_.Path("pod/main/pid")) >> left;
  ASSERT_GT(left, 0);
  const auto is_it = [](pid_t pid) {
    std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    return std::getline(comm, name) && name == "sleep";
  };
  const bool grouped = processes->limitation().find("make the control group") == std::string::npos;
  // What is killed goes when the kernel comes to it.
  Until([&] { return is_it(left) != grouped; });
  EXPECT_EQ(SignalThese({left}, grouped ? 0 : SIGKILL, is_it), grouped ? 0 : 1);
}

TEST_F(PosixContainerProcessesTest, GoesWithWhoHoldsIt) {
  ASSERT_TRUE(Start(Shell("trap '' TERM; echo ready; while :; do sleep 1; done")).ok());
  WaitForOutput("ready");
  process_.reset();
  Until([&] { return Left() == 0; });
  EXPECT_EQ(Left(), 0);
  EXPECT_FALSE(end_) << "nothing is reported";
}

TEST_F(PosixContainerProcessesTest, SaysWhyItCannotStart) {
  ContainerCommand command = Shell("");
  command.command = {"no-such-program"};
  const Status missing = Start(command);
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no-such-program"));
  command.command = {directory_.path()};
  EXPECT_EQ(Start(command).code(), Code::kPermissionDenied) << "a directory is no program";
  command = Shell("exit 0");
  command.working_directory = "/nonexistent";
  EXPECT_THAT(Start(command).message(), HasSubstr("enter the directory /nonexistent"));
}

TEST_F(PosixContainerProcessesTest, KillsWhatAnAgentBeforeLeftAndNothingElse) {
  TemporaryDirectory elsewhere;
  const auto other = MakeProcesses(*loop_, elsewhere.path());
  ASSERT_TRUE(Start(Shell("sleep 60 & echo ready; wait")).ok());
  WaitForOutput("ready");
  EXPECT_EQ(other->KillLeftovers(), 0) << "another agent's are not its own";
  EXPECT_GE(processes_->KillLeftovers(), 1);
  WaitForEnd();
  EXPECT_EQ(end_->signal, SIGKILL);
}

// Plays an agent in a process of its own: starts what `command` says, and hands on to `seen` what
// it writes, until it is killed.
[[noreturn]] void PlayAgent(const std::string& directory, const ContainerCommand& command,
                            int seen) {
  const auto loop = EpollLoop::Create().value();
  const auto processes = MakeProcesses(*loop, directory, NoGroups());
  const auto process = processes->Start(
      command,
      [seen](std::string_view bytes) {
        if (::write(seen, bytes.data(), bytes.size()) < 0) ::_exit(1);
      },
      [](const ProcessEnd&) {});
  loop->Run();
  ::_exit(0);
}

// Reads so many process ids, one a line.
std::vector<pid_t> ReadPids(int fd, std::size_t count) {
  std::string text;
  char byte = 0;
  while (static_cast<std::size_t>(std::ranges::count(text, '\n')) < count &&
         ::read(fd, &byte, 1) == 1) {
    text += byte;
  }
  std::vector<pid_t> pids;
  std::istringstream lines(text);
  for (pid_t pid = 0; lines >> pid;) pids.push_back(pid);
  return pids;
}

// A child, one that has left the session, one that has also lost its parent (a daemon), and a chain
// of them; none has a mark that it could be found by.
TEST_F(PosixContainerProcessesTest, NothingOutlivesAnAgentThatIsKilled) {
  const std::string report = "'echo $$; exec sleep 600'";
  const ContainerCommand command =
      Shell("env -i sh -c " + report + " & env -i setsid sh -c " + report +
            " & (env -i setsid sh -c " + report + " &); env -i setsid sh -c " +
            "'echo $$; setsid sh -c \"echo \\$\\$; exec sleep 600\" & wait' & echo $$; wait");
  int seen[2];
  ASSERT_EQ(::pipe2(seen, O_CLOEXEC), 0);
  const Fd read(seen[0]);
  Fd write(seen[1]);
  const pid_t agent = ::fork();
  if (agent == 0) PlayAgent(directory_.path(), command, write.get());
  write.Reset();
  const std::vector<pid_t> pids = ReadPids(read.get(), 6);
  ASSERT_EQ(pids.size(), 6U);
  std::vector<Fd> handles;
  for (const pid_t pid : pids) handles.push_back(OpenProcess(pid));
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  for (const Fd& handle : handles) EXPECT_TRUE(Ends(handle));
  // Where the test fails, they go.
  for (const Fd& handle : handles) {
    SignalProcess(handle, SIGKILL);
  }
}

TEST_F(PosixContainerProcessesTest, ContainersEndWithTheirKeeperAndTheLogSaysSo) {
  std::vector<std::string> lines;
  Log log(
      LogLevel::kError, [] { return WallTime{}; },
      [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  auto keeper = ProcessKeeper::Start().value();
  const pid_t pid = keeper->pid();
  processes_ = std::make_unique<PosixContainerProcesses>(*loop_, log, std::move(keeper),
                                                         directory_.path(), NoGroups());
  ASSERT_TRUE(Start(Shell("setsid sleep 60 & echo ready; sleep 60")).ok());
  WaitForOutput("ready");
  ::kill(pid, SIGKILL);
  WaitForEnd();
  EXPECT_EQ(end_->signal, SIGKILL);
  EXPECT_EQ(Left(), 0);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("the keeper of container processes ended"));
  EXPECT_THAT(lines[0], HasSubstr("by=\"signal 9\" containers=1"));
  EXPECT_EQ(Start(Shell("exit 0")).code(), Code::kUnavailable);
}

TEST_F(PosixContainerProcessesTest, DoesNotStartOutsideOfTheGroupThatItMade) {
  // Plain files instead of the kernel's: the group is made, and has nothing to enter it by.
  const std::string root = directory_.path();
  std::filesystem::create_directories(root + "/cgroup/memory");
  std::ofstream(root + "/own") << "5:memory:/\n";
  const auto processes =
      MakeProcesses(*loop_, root, {.cgroup_root = root + "/cgroup", .own_groups = root + "/own"});
  const auto started =
      processes->Start(Shell("exit 0"), [](std::string_view) {}, [](const ProcessEnd&) {});
  EXPECT_THAT(started.status().message(), HasSubstr("cgroup.procs"));
}

TEST_F(PosixContainerProcessesTest, DoesNotStartWithoutTheLimitThatItAsksFor) {
  const std::string root = directory_.path();
  std::filesystem::create_directories(root + "/cgroup/memory");
  std::ofstream(root + "/own") << "5:memory:/\n";
  const auto processes =
      MakeProcesses(*loop_, root, {.cgroup_root = root + "/cgroup", .own_groups = root + "/own"});
  ContainerCommand command = Shell("exit 0");
  command.memory_bytes_max = 1 << 20;
  // No file takes anything, as the kernel's may not.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  const auto started = processes->Start(command, [](std::string_view) {}, [](const ProcessEnd&) {});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(started.status().message(), HasSubstr("memory.limit_in_bytes"));
}

TEST_F(PosixContainerProcessesTest, ReadsTheStartOfAnOrdinaryFileOnly) {
  const std::string path = directory_.path() + "/log";
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(*processes_->ReadStart(path, 4), "0123");
  EXPECT_EQ(*processes_->ReadStart(path, 4096), "0123456789");
  std::filesystem::create_symlink(path, directory_.path() + "/link");
  EXPECT_FALSE(processes_->ReadStart(directory_.path() + "/link", 4).ok());
  EXPECT_FALSE(processes_->ReadStart(directory_.path(), 4).ok());
  EXPECT_EQ(processes_->ReadStart(directory_.path() + "/none", 4).status().code(), Code::kNotFound);
}

TEST_F(PosixContainerProcessesTest, RemovesADirectoryWithAllThatIsInIt) {
  std::filesystem::create_directories(directory_.path() + "/pod/main/deep");
  std::filesystem::create_directory_symlink("/tmp", directory_.path() + "/pod/main/link");
  processes_->RemoveTree(directory_.path() + "/pod");
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/pod"));
  EXPECT_TRUE(std::filesystem::exists("/tmp")) << "a link is not followed";
}

}  // namespace
}  // namespace galen::agent
