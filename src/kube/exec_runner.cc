#include "kube/exec_runner.h"

#include <cstdint>
#include <map>
#include <utility>

#include "base/loop/process.h"

namespace galen::kube {
namespace {

class ProcessRunner final : public ExecRunner {
 public:
  explicit ProcessRunner(IoLoop& loop) : loop_(loop) {}

  void Run(const ExecPlugin& plugin, std::function<void(StatusOr<std::string>)> done) override;

 private:
  // A plugin that runs, by a number of its own: its callbacks may come when it is gone from the
  // map.
  struct Running {
    std::string output;
    std::function<void(StatusOr<std::string>)> done;
    std::unique_ptr<Process> process;
    Timer timeout;
  };

  void OnOutput(std::uint64_t id, std::string_view bytes);
  void Finish(std::uint64_t id, StatusOr<std::string> result);

  IoLoop& loop_;
  std::map<std::uint64_t, Running> running_;
  std::uint64_t next_ = 0;
};

void ProcessRunner::Run(const ExecPlugin& plugin, std::function<void(StatusOr<std::string>)> done) {
  const std::uint64_t id = next_++;
  Running& running = running_[id];
  running.done = std::move(done);
  Process::Options options;
  options.command = plugin.command;
  options.environment = plugin.environment;
  options.on_output = [this, id](std::string_view bytes) { OnOutput(id, bytes); };
  auto process = Process::Start(loop_, std::move(options), [this, id](Process::Exit exit) {
    // Ended already by its timeout or for its size.
    const auto it = running_.find(id);
    if (it == running_.end()) return;
    if (exit.signal != 0) return Finish(id, Unauthenticated("ended by signal {}", exit.signal));
    if (exit.code != 0) return Finish(id, Unauthenticated("ended with exit code {}", exit.code));
    Finish(id, std::move(it->second.output));
  });
  if (!process.ok()) return Finish(id, process.status());
  running.process = std::move(process).value();
  running.timeout = loop_.After(
      kExecTimeout, [this, id] { Finish(id, DeadlineExceeded("had not ended after 60 s")); });
}

void ProcessRunner::OnOutput(std::uint64_t id, std::string_view bytes) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  std::string& output = it->second.output;
  output += bytes.substr(0, kExecOutputBytesMax + 1 - output.size());
  if (output.size() <= kExecOutputBytesMax) return;
  // From a timer of its own: we are inside the process's callback.
  it->second.timeout = loop_.After(Duration::zero(), [this, id] {
    Finish(id, ResourceExhausted("printed more than {} bytes", kExecOutputBytesMax));
  });
}

void ProcessRunner::Finish(std::uint64_t id, StatusOr<std::string> result) {
  auto node = running_.extract(id);
  // The process may be what calls us, so it goes a little later.
  loop_.Post([process = std::move(node.mapped().process)] {});
  node.mapped().done(std::move(result));
}

}  // namespace

std::unique_ptr<ExecRunner> MakeExecRunner(IoLoop& loop) {
  return std::make_unique<ProcessRunner>(loop);
}

}  // namespace galen::kube
