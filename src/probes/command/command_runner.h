// Runs a command once, bounded in time, processor and output; the real one starts a process, the
// fake is FakeCommandRunner. Belongs to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/control_groups.h"
#include "base/log.h"
#include "base/loop/io_loop.h"
#include "base/time.h"

namespace galen::probes {

// What is kept of a command's standard output; the rest is read and dropped.
inline constexpr std::size_t kCommandOutputBytesMax = 4096;
// One that prints more is killed: to read it without end would cost us the processor.
inline constexpr std::size_t kCommandPrintsBytesMax = std::size_t{1} << 20;

// What all processes of a run may use together where there are control groups. Below what a process
// may take without them (Process::Confinement): what runs out is the group's, which ends a command
// and says so, and not its own malloc, after which its exit code says anything.
inline constexpr std::uint64_t kCommandMemoryBytesMax = std::uint64_t{256} << 20;
// Processes and threads: Go starts one for each processor.
inline constexpr int kCommandProcessesMax = 256;
// Processors that a run may use: a check with many threads takes no more than one with one.
inline constexpr double kCommandProcessorsMax = 1;

// What to run.
struct CommandRequest {
  std::vector<std::string> command{};  // without a shell; the program by its whole path
  Duration timeout{};
  Duration cpu{};  // in whole seconds

  bool operator==(const CommandRequest&) const = default;
};

// How a run went.
struct CommandEnd {
  // Out of memory: the kernel killed one of its processes for the limit of all. Out of processes:
  // it met that limit, and did not exit with 0.
  enum class How {
    kExited,
    kSignalled,
    kTimedOut,
    kFlooded,
    kOutOfMemory,
    kOutOfProcesses,
    kNotStarted
  };

  How how = How::kExited;
  int number = 0;        // the exit code, or the signal that ended it
  std::string output{};  // the first kCommandOutputBytesMax, as they came
  std::string error{};   // why it could not be started
  Duration cpu{};        // that it used

  bool operator==(const CommandEnd&) const = default;
};

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // `done` runs once, never within this call, when nothing of the command is left; not any more
  // when the runner is destroyed before. A command that hangs in the kernel is killed in time, but
  // ends when the kernel lets it. Several may run at a time; who calls bounds how many.
  virtual void Run(CommandRequest request, std::function<void(const CommandEnd&)> done) = 0;
};

// Starts processes, each with a group of its own, nice, and with an environment of PATH and LC_ALL
// alone; each in a control group of its own where `groups` are usable. The loop outlives it;
// destroying it kills what runs, and waits 200 ms at most for what is in a group. Programs are
// loaded by threads, since that may hang as they do. `groups` may be null. What they could not do
// is in the log once, which outlives it.
std::unique_ptr<CommandRunner> MakeCommandRunner(IoLoop& loop,
                                                 std::unique_ptr<ControlGroups> groups = nullptr,
                                                 Log& log = NullLog());

// The control groups of this process's commands, below its own group. What this machine does not
// give is their limitation(). Ends what commands of earlier processes have left.
std::unique_ptr<ControlGroups> MakeCommandGroups(ControlGroups::Places places = {});

}  // namespace galen::probes
