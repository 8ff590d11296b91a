// The demo's real processes: API, agent and two drivers, and the actions on them. Each is started
// from its file beside this program and ended by its process id; they are called galen-sim,
// galen-agent, gpu-driver, nic-driver and link here. Belongs to its session's thread. Destroying it
// ends all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/epoll_loop.h"
#include "base/loop/process.h"
#include "cli/demo/demo_place.h"
#include "cli/interrupt.h"

namespace galen::cli {

class DemoPrograms {
 public:
  // Which programs to run, and how.
  struct Settings {
    std::string bin_directory;  // where galen-agent and its siblings are
    std::string node = "node-7";
    bool kernel_log = false;               // the GPU driver also reads /dev/kmsg
    const Interrupt* interrupt = nullptr;  // ends every wait except for a program's end
    // In addition to the default arguments of API, agent and GPU driver.
    std::vector<std::string> api_arguments = {}, agent_arguments = {}, gpu_arguments = {};
    // How long all but the API get to end by SIGTERM.
    Duration end_others_within = std::chrono::seconds(1);
  };

  // Called when a program ends unasked; `how` is a sentence with its name and its log.
  using OnDeath = std::function<void(const std::string& program, const Process::Exit& exit,
                                     const std::string& how)>;
  DemoPrograms(EpollLoop& loop, DemoPlace place, Settings settings, OnDeath on_death);
  ~DemoPrograms();

  // Returns when it serves.
  Status StartApi();
  Status StartAgent();
  // Returns when `program` has made `path`, by which others see that it serves; DeadlineExceeded
  // after 20 s, and the interrupt's reason.
  Status WaitForFile(const std::string& path, const std::string& program);
  Status StartGpuDriver();  // also again, once it has ended
  // A network namespace of its own with a veth pair rail0–rail1 in it; returns when it exists.
  // Without root it is created in a user namespace, so that the link is real for every user.
  Status MakeLink();
  // For the interface rail0 of that namespace. REQUIRES: MakeLink.
  Status StartNicDriver();

  // SIGKILL, and waits until the process is gone.
  Status Kill(const std::string& program);
  // Sets the link rail0 in the NIC driver's namespace "up" or "down".
  Status SetLink(const std::string& state);
  pid_t pid(const std::string& program) const;

  // SIGTERM to all, the API last, then SIGKILL; takes at most end_others_within and half a second,
  // since a person who pressed Ctrl-C waits for it.
  void StopAll();

 private:
  struct Running {
    std::unique_ptr<Process> process;
    bool asked_to_end = false;
    std::optional<Process::Exit> exit;
  };

  // `enter` is a command that runs the given command elsewhere, like nsenter(1).
  Status Start(const std::string& program, std::vector<std::string> command,
               std::vector<std::string> enter = {});
  void OnExit(const std::string& program, Process::Exit exit);
  void WaitUntil(Time end, const std::function<bool()>& done);
  std::vector<std::string> DriverArguments(const std::string& kind) const;
  std::vector<std::string> AsOwnerOfLink(std::vector<std::string> enter) const;
  std::string LinkSysfs() const;

  EpollLoop& loop_;
  const DemoPlace place_;
  const Settings settings_;
  const bool privileged_;  // root may make network namespaces directly
  const OnDeath on_death_;
  std::map<std::string, Running> running_;
  // Names in the order of their first start.
  std::vector<std::string> order_;
};

}  // namespace galen::cli
