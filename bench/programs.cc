#include "bench/programs.h"

#include <csignal>

namespace galen::bench {
namespace {

// As long as the agent gives itself to stop.
constexpr Duration kEndGrace = std::chrono::seconds(5);

}  // namespace

Programs::Programs(EpollLoop& loop, std::string log_directory)
    : loop_(loop), log_directory_(std::move(log_directory)) {}

Programs::~Programs() {
  for (auto& [name, running] : running_) {
    // A stopped process would not get SIGTERM.
    if (!running.ended) running.process->Signal(SIGCONT);
    if (!running.ended) End(name, SIGTERM);
  }
}

Status Programs::Start(const std::string& name, std::vector<std::string> command) {
  Running& running = running_[name];
  running = Running();
  auto process = Process::Start(loop_,
                                {.command = std::move(command),
                                 .environment = {},
                                 .directory = "",
                                 .output_path = LogPath(name),
                                 .on_output = {}},
                                [this, name](Process::Exit exit) { OnExit(name, exit); });
  if (!process.ok()) {
    running_.erase(name);
    return Annotate(process.status(), "start {}", name);
  }
  running.process = std::move(process).value();
  return OkStatus();
}

void Programs::OnExit(const std::string& name, const Process::Exit& exit) {
  Running& running = running_.at(name);
  running.ended = true;
  if (!running.asked_to_end) {
    health_ = Unavailable("{} ended by itself (code {}, signal {}); see {}", name, exit.code,
                          exit.signal, LogPath(name));
  }
  loop_.Stop();
}

void Programs::End(const std::string& name, int signal) {
  Running& running = running_.at(name);
  running.asked_to_end = true;
  running.process->Signal(signal);
  const Time limit = loop_.Now() + kEndGrace;
  const Timer timer = loop_.At(limit, [this] { loop_.Stop(); });
  while (!running.ended && loop_.Now() < limit) loop_.Run();
  if (!running.ended) running.process.reset();
  running.ended = true;
}

}  // namespace galen::bench
