// Real processes under names of ours, with their output kept in files. Belongs to its loop's
// thread; ends everything it started when it goes, also what is stopped (SIGSTOP).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/epoll_loop.h"
#include "base/loop/process.h"

namespace galen::bench {

class Programs {
 public:
  // Output goes to `log_directory`/NAME.log, and on from where an earlier one left off. The loop
  // outlives this; every end of a process stops it, so that whoever waits looks again.
  Programs(EpollLoop& loop, std::string log_directory);
  ~Programs();
  Programs(const Programs&) = delete;

  // Starts `command` under a new name, or one whose process has ended. Returns before it serves.
  Status Start(const std::string& name, std::vector<std::string> command);
  // Sends `signal` and returns when the process is gone; SIGKILL after a grace period. REQUIRES: it
  // was started.
  void End(const std::string& name, int signal);
  void Signal(const std::string& name, int signal) { running_.at(name).process->Signal(signal); }
  pid_t pid(const std::string& name) const { return running_.at(name).process->pid(); }

  // OK while no program has ended unless asked to.
  Status health() const { return health_; }

 private:
  struct Running {
    std::unique_ptr<Process> process;
    bool asked_to_end = false;
    bool ended = false;
  };

  std::string LogPath(const std::string& name) const {
    return log_directory_ + "/" + name + ".log";
  }
  void OnExit(const std::string& name, const Process::Exit& exit);

  EpollLoop& loop_;
  const std::string log_directory_;
  std::map<std::string, Running> running_;
  Status health_;
};

}  // namespace galen::bench
