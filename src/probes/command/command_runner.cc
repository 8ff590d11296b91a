#include "probes/command/command_runner.h"

#include <csignal>
#include <cstdint>
#include <map>
#include <utility>

#include "base/loop/process.h"

namespace galen::probes {
namespace {

class ProcessRunner final : public CommandRunner {
 public:
  explicit ProcessRunner(IoLoop& loop) : loop_(loop) {}

  void Run(CommandRequest request, std::function<void(const CommandEnd&)> done) override;

 private:
  // A command that runs, by a number of its own.
  struct Running {
    CommandEnd end;
    std::size_t printed = 0;  // bytes
    std::function<void(const CommandEnd&)> done;
    std::unique_ptr<Process> process;
    Timer timeout;
  };

  void OnOutput(Running& running, std::string_view bytes);
  void OnExit(std::uint64_t id, Process::Exit exit);
  void Finish(std::uint64_t id);
  // Kills the command with all its children. `how` is reported, unless an earlier call said
  // another reason.
  static void Kill(Running& running, CommandEnd::How how);

  IoLoop& loop_;
  std::map<std::uint64_t, Running> running_;
  std::uint64_t next_ = 0;
};

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
  auto process = Process::Start(loop_, std::move(options),
                                [this, id](Process::Exit exit) { OnExit(id, exit); });
  if (!process.ok()) {
    running.end.how = CommandEnd::How::kNotStarted;
    running.end.error = process.status().message();
    running.timeout = loop_.After(Duration::zero(), [this, id] { Finish(id); });
    return;
  }
  running.process = std::move(process).value();
  running.timeout =
      loop_.After(request.timeout, [&running] { Kill(running, CommandEnd::How::kTimedOut); });
}

void ProcessRunner::Kill(Running& running, CommandEnd::How how) {
  if (running.end.how == CommandEnd::How::kExited) running.end.how = how;
  running.process->Signal(SIGKILL);
}

void ProcessRunner::OnOutput(Running& running, std::string_view bytes) {
  running.end.output += bytes.substr(0, kCommandOutputBytesMax - running.end.output.size());
  running.printed += bytes.size();
  if (running.printed > kCommandPrintsBytesMax) Kill(running, CommandEnd::How::kFlooded);
}

void ProcessRunner::OnExit(std::uint64_t id, Process::Exit exit) {
  CommandEnd& end = running_.at(id).end;
  end.cpu = exit.cpu;
  if (end.how == CommandEnd::How::kExited) {
    if (exit.signal != 0) end.how = CommandEnd::How::kSignalled;
    end.number = exit.signal != 0 ? exit.signal : exit.code;
  }
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

std::unique_ptr<CommandRunner> MakeCommandRunner(IoLoop& loop) {
  return std::make_unique<ProcessRunner>(loop);
}

}  // namespace galen::probes
