// The demo's real processes: API, agent and two drivers, and what is done to them. Each is started
// by its name beside this program and ended by its id. Belongs to its session's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/epoll_loop.h"
#include "base/process.h"
#include "cli/demo_place.h"

namespace galen::cli {

class DemoPrograms {
 public:
  struct Settings {
    std::string bin_directory;  // where galen-agent and its siblings are
    std::string node = "node-7";
    bool kernel_log = false;  // the GPU driver also reads /dev/kmsg
  };

  // `on_death` runs when a program ends that was not told to.
  DemoPrograms(EpollLoop& loop, DemoPlace place, Settings settings,
               std::function<void(const std::string& program)> on_death);
  ~DemoPrograms();

  Status StartApi();
  Status StartAgent();
  Status StartGpuDriver();
  // A network namespace of its own with a veth pair rail0–rail1 in it; returns when it is there.
  Status MakeLink();
  // For the interface rail0 of that namespace. REQUIRES: MakeLink.
  Status StartNicDriver();

  // SIGKILL, and waits until the process is gone.
  Status Kill(const std::string& program);
  // Sets the link rail0 in the NIC driver's namespace "up" or "down".
  Status SetLink(const std::string& state);
  pid_t pid(const std::string& program) const;

  // SIGTERM to all, newest first, then SIGKILL after a grace period.
  void StopAll();

 private:
  struct Running {
    std::unique_ptr<Process> process;
    bool told_to_end = false;
    std::optional<Process::Exit> exit;
  };

  Status Start(const std::string& program, std::vector<std::string> command);
  void WaitForEnd(const std::string& program, Duration limit);
  std::vector<std::string> DriverArguments(const std::string& kind) const;
  std::string LinkSysfs() const;

  EpollLoop& loop_;
  const DemoPlace place_;
  const Settings settings_;
  const std::function<void(const std::string&)> on_death_;
  std::map<std::string, Running> running_;
  std::vector<std::string> order_;
};

}  // namespace galen::cli
