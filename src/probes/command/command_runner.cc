#include "probes/command/command_runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <utility>

#include "base/files/detached_queue.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/process.h"
#include "base/repeated_log.h"

namespace galen::probes {
namespace {

// Groups of runs that ended whose processes the kernel does not let go.
constexpr std::size_t kEndedGroupsMax = 64;
// Looks at them after an end; later ones come with each run.
constexpr int kLooksMax = 50;
constexpr Duration kLookEvery = std::chrono::milliseconds(20);
// The same at the end of the runner, a millisecond apart.
constexpr int kLastLooksMax = 200;

class ProcessRunner final : public CommandRunner {
 public:
  ProcessRunner(IoLoop& loop, std::unique_ptr<ControlGroups> groups, Log& log)
      : loop_(loop), groups_(std::move(groups)), log_(log) {}
  ~ProcessRunner() override;

  void Run(CommandRequest request, std::function<void(const CommandEnd&)> done) override;

 private:
  // A command that runs, by a number of its own.
  struct Running {
    CommandEnd end;
    std::size_t printed = 0;  // bytes
    std::function<void(const CommandEnd&)> done;
    // One a run: a program that hangs while it is loaded holds up no other. Null once it has
    // started.
    std::unique_ptr<DetachedQueue> starter;
    std::unique_ptr<Process> process;  // null until then
    std::string group;                 // its control group; "" without
    Timer timeout;
  };

  void OnStarted(std::uint64_t id, StatusOr<std::unique_ptr<Process>> process);
  void OnOutput(Running& running, std::string_view bytes);
  void OnExit(std::uint64_t id, Process::Exit exit);
  void Finish(std::uint64_t id);
  // Puts it into a control group of its own, where there are any.
  void Group(std::uint64_t id, Process::Confinement& confinement);
  // What its group saw, and the group's end.
  void TakeGroup(Running& running);
  // Kills whatever is in the group, whichever session it is in, and removes it if that is all.
  bool EndGroup(const std::string& group);
  // The same for those that stayed.
  void EndLeftGroups();
  void LookAgain(int looks_left);
  void WarnOnce(const std::string& sentence, Log::Fields fields);
  // Kills the command with all its children. `how` is reported, unless an earlier call said
  // another reason.
  static void Kill(Running& running, CommandEnd::How how);

  IoLoop& loop_;
  const std::unique_ptr<ControlGroups> groups_;
  Log& log_;
  LogOnce warned_;
  std::map<std::uint64_t, Running> running_;
  std::vector<std::string> ended_groups_;  // that still have processes
  Timer look_;
  std::uint64_t next_ = 0;
  const Liveness liveness_;
};

ProcessRunner::~ProcessRunner() {
  for (const auto& [id, running] : running_) {
    if (!running.group.empty() && !EndGroup(running.group)) ended_groups_.push_back(running.group);
  }
  // Processes that are killed go a moment later. Where the kernel does not let them, who starts
  // next removes their groups.
  for (int look = 0; look < kLastLooksMax && !ended_groups_.empty(); ++look) {
    ::poll(nullptr, 0, 1);
    EndLeftGroups();
  }
  if (groups_) groups_->RemoveAll();
}

void ProcessRunner::Run(CommandRequest request, std::function<void(const CommandEnd&)> done) {
  const std::uint64_t id = next_++;
  Running& running = running_[id];
  running.done = std::move(done);
  Process::Options options;
  options.command = std::move(request.command);
  // The system's programs, and messages in a language that rules can be written for.
  options.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                         "LC_ALL=C"};
  options.directory = "/";
  options.on_output = [this, &running](std::string_view bytes) { OnOutput(running, bytes); };
  options.confinement = Process::Confinement{
      .cpu_most = std::chrono::duration_cast<std::chrono::seconds>(request.cpu)};
  Group(id, *options.confinement);
  running.timeout =
      loop_.After(request.timeout, [&running] { Kill(running, CommandEnd::How::kTimedOut); });
  running.starter = std::make_unique<DetachedQueue>(loop_, "command");
  RunFor(
      liveness_, *running.starter,
      [options = std::move(options)]() mutable { return Process::Spawn(std::move(options)); },
      [this, id](StatusOr<std::unique_ptr<Process>> process) {
        OnStarted(id, std::move(process));
      });
}

void ProcessRunner::OnStarted(std::uint64_t id, StatusOr<std::unique_ptr<Process>> process) {
  Running& running = running_.at(id);
  // It is what calls us, so it goes a little later.
  loop_.Post([starter = std::move(running.starter)] {});
  if (!process.ok()) {
    running.end.how = CommandEnd::How::kNotStarted;
    running.end.error = process.status().message();
    TakeGroup(running);
    return Finish(id);
  }
  running.process = std::move(process).value();
  running.process->Watch(loop_, [this, id](Process::Exit exit) { OnExit(id, exit); });
  // Its time was over before it had begun.
  if (running.end.how != CommandEnd::How::kExited) running.process->Signal(SIGKILL);
}

void ProcessRunner::Group(std::uint64_t id, Process::Confinement& confinement) {
  if (!groups_ || !groups_->usable()) return;
  EndLeftGroups();
  // One that cannot be ended keeps its group; with so many of them the machine is in no state to
  // say more.
  if (ended_groups_.size() >= kEndedGroupsMax) {
    WarnOnce(
        "control groups of commands that ended still have processes that cannot be killed: "
        "commands run without groups, each process with limits of its own, until some are gone",
        {{"groups", ended_groups_.size()}, {"first", ended_groups_.front()}});
    return;
  }
  StatusOr<MadeControlGroup> made =
      groups_->Make(fmt::format("run-{}", id), {.memory_bytes = kCommandMemoryBytesMax,
                                                .processes = kCommandProcessesMax,
                                                .processors = kCommandProcessorsMax});
  // Then it has the limits of each of its processes.
  if (!made.ok()) {
    WarnOnce("a command got no control group: each of its processes has limits of its own",
             {{"error", made.status().message()}});
    return;
  }
  for (const Status& why : made->refused) {
    WarnOnce("a limit of commands was refused: they run without it", {{"error", why.message()}});
  }
  confinement.join = groups_->JoinFiles(made->directory);
  confinement.joined_bounds_memory = made->bounds_memory;
  running_.at(id).group = std::move(made->directory);
}

bool ProcessRunner::EndGroup(const std::string& group) {
  groups_->EndMembers(group);
  return groups_->Remove(group);
}

void ProcessRunner::EndLeftGroups() {
  std::erase_if(ended_groups_, [this](const std::string& group) { return EndGroup(group); });
}

void ProcessRunner::LookAgain(int looks_left) {
  if (ended_groups_.empty() || looks_left == 0) return;
  look_ = loop_.After(kLookEvery, [this, looks_left] {
    EndLeftGroups();
    LookAgain(looks_left - 1);
  });
}

void ProcessRunner::WarnOnce(const std::string& sentence, Log::Fields fields) {
  if (warned_.First(sentence)) log_.Warning(sentence, fields);
}

void ProcessRunner::TakeGroup(Running& running) {
  if (running.group.empty()) return;
  CommandEnd& end = running.end;
  const bool own = end.how == CommandEnd::How::kExited || end.how == CommandEnd::How::kSignalled;
  if (own && groups_->RanOutOfMemory(running.group)) {
    end.how = CommandEnd::How::kOutOfMemory;
  } else if (own && end.number != 0 && groups_->RanOutOfProcesses(running.group)) {
    end.how = CommandEnd::How::kOutOfProcesses;
  }
  std::string group = std::exchange(running.group, "");
  if (EndGroup(group)) return;
  ended_groups_.push_back(std::move(group));
  LookAgain(kLooksMax);
}

void ProcessRunner::Kill(Running& running, CommandEnd::How how) {
  if (running.end.how == CommandEnd::How::kExited) running.end.how = how;
  if (running.process) running.process->Signal(SIGKILL);
}

void ProcessRunner::OnOutput(Running& running, std::string_view bytes) {
  running.end.output += bytes.substr(0, kCommandOutputBytesMax - running.end.output.size());
  running.printed += bytes.size();
  if (running.printed > kCommandPrintsBytesMax) Kill(running, CommandEnd::How::kFlooded);
}

void ProcessRunner::OnExit(std::uint64_t id, Process::Exit exit) {
  Running& running = running_.at(id);
  CommandEnd& end = running.end;
  end.cpu = exit.cpu;
  if (end.how == CommandEnd::How::kExited) {
    if (exit.signal != 0) end.how = CommandEnd::How::kSignalled;
    end.number = exit.signal != 0 ? exit.signal : exit.code;
  }
  TakeGroup(running);
  Finish(id);
}

void ProcessRunner::Finish(std::uint64_t id) {
  auto node = running_.extract(id);
  // The process may be what calls us, so it goes a little later.
  node.mapped().timeout.Cancel();
  auto gone = std::make_unique<Running>(std::move(node.mapped()));
  const CommandEnd end = std::move(gone->end);
  const std::function<void(const CommandEnd&)> done = std::move(gone->done);
  loop_.Post([gone = std::move(gone)] {});
  done(end);
}

}  // namespace

std::unique_ptr<CommandRunner> MakeCommandRunner(IoLoop& loop,
                                                 std::unique_ptr<ControlGroups> groups, Log& log) {
  return std::make_unique<ProcessRunner>(loop, std::move(groups), log);
}

std::unique_ptr<ControlGroups> MakeCommandGroups(ControlGroups::Places places) {
  const std::string prefix = "galen-commands-";
  auto groups = std::make_unique<ControlGroups>(
      std::move(places), fmt::format("{}{}", prefix, ::getpid()),
      ControlGroups::Wanted{.processes = true, .processors = true, .make_room = true});
  groups->EndLeftovers(prefix);
  return groups;
}

}  // namespace galen::probes
