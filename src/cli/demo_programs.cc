// Tested by tests/e2e, which plays the demo in batch.
#include "cli/demo_programs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "cli/await.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEndGrace = 5s;
constexpr Duration kLinkWithin = 10s;
constexpr Duration kLookForLinkEvery = 20ms;

// sysfs shows the interfaces of the namespace it was mounted in, so it is mounted anew in there.
constexpr std::string_view kNamespaceScript =
    "mount -t sysfs sysfs /sys && ip link set lo up && "
    "ip link add rail0 type veth peer name rail1 && ip link set rail1 up && ip link set rail0 up "
    "&& "
    "exec sleep infinity";

}  // namespace

DemoPrograms::DemoPrograms(EpollLoop& loop, DemoPlace place, Settings settings,
                           std::function<void(const std::string&)> on_death)
    : loop_(loop),
      place_(std::move(place)),
      settings_(std::move(settings)),
      on_death_(std::move(on_death)) {}

DemoPrograms::~DemoPrograms() { StopAll(); }

Status DemoPrograms::StartApi() {
  return Start("galen-sim", {settings_.bin_directory + "/galen-sim", "--listen", "127.0.0.1:0",
                             "--kubeconfig-out", place_.kubeconfig()});
}

Status DemoPrograms::StartAgent() {
  return Start("galen-agent",
               {settings_.bin_directory + "/galen-agent", "--role", "manager", "--node",
                settings_.node, "--kubeconfig", place_.kubeconfig(), "--kubelet-root",
                place_.kubelet_root(), "--state-dir", place_.agent_state(), "--socket",
                place_.agent_socket(), "--metrics-address", "127.0.0.1:0"});
}

Status DemoPrograms::StartGpuDriver() {
  std::vector<std::string> command = DriverArguments("gpu");
  if (settings_.kernel_log) command.insert(command.end(), {"--kernel-log", "/dev/kmsg"});
  return Start("gpu-driver", std::move(command));
}

Status DemoPrograms::MakeLink() {
  RETURN_IF_ERROR(Start("link", {"unshare", "--net", "--mount", "--propagation", "private", "--",
                                 "sh", "-c", std::string(kNamespaceScript)}));
  const Time end = loop_.Now() + kLinkWithin;
  while (access((LinkSysfs() + "/class/net/rail0/carrier").c_str(), R_OK) != 0) {
    if (running_.at("link").exit || loop_.Now() > end) {
      return Unavailable("a network namespace with a veth pair could not be made; see {}",
                         place_.log("link"));
    }
    const Timer pause = loop_.After(kLookForLinkEvery, [this] { loop_.Stop(); });
    loop_.Run();
  }
  return OkStatus();
}

Status DemoPrograms::StartNicDriver() {
  std::vector<std::string> command = DriverArguments("nic");
  command.insert(command.end(),
                 {"--interfaces", "rail0", "--sysfs-root", LinkSysfs(), "--network-namespace",
                  "/proc/" + std::to_string(pid("link")) + "/ns/net"});
  return Start("nic-driver", std::move(command));
}

Status DemoPrograms::Kill(const std::string& program) {
  Running& running = running_.at(program);
  running.told_to_end = true;
  running.process->Signal(SIGKILL);
  WaitForEnd(program, kEndGrace);
  return OkStatus();
}

Status DemoPrograms::SetLink(const std::string& state) {
  const std::vector<std::string> command = {"nsenter", "--target", std::to_string(pid("link")),
                                            "--net",   "ip",       "link",
                                            "set",     "rail0",    state};
  std::unique_ptr<Process> process;
  const StatusOr<int> code = Await<int>(loop_, [&](std::function<void(StatusOr<int>)> done) {
    auto started = Process::Start(loop_,
                                  {.command = command,
                                   .environment = {},
                                   .directory = "",
                                   .output_path = place_.log("link"),
                                   .on_output = {}},
                                  [done](Process::Exit exit) { done(exit.code + exit.signal); });
    if (!started.ok()) return loop_.Post([done, s = started.status()] { done(s); });
    process = std::move(started).value();
  });
  if (!code.ok()) return code.status();
  return *code == 0 ? OkStatus() : Internal("ip link set rail0 {} ended with {}", state, *code);
}

pid_t DemoPrograms::pid(const std::string& program) const {
  return running_.at(program).process->pid();
}

void DemoPrograms::StopAll() {
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    Running& running = running_.at(*it);
    if (!running.process || running.exit) continue;
    running.told_to_end = true;
    running.process->Signal(SIGTERM);
    WaitForEnd(*it, kEndGrace);
  }
  running_.clear();
  order_.clear();
}

Status DemoPrograms::Start(const std::string& program, std::vector<std::string> command) {
  Running& running = running_[program];
  running = Running();
  auto process = Process::Start(loop_,
                                {.command = std::move(command),
                                 .environment = {},
                                 .directory = "",
                                 .output_path = place_.log(program),
                                 .on_output = {}},
                                [this, program](Process::Exit exit) {
                                  Running& ended = running_.at(program);
                                  ended.exit = exit;
                                  if (!ended.told_to_end) on_death_(program);
                                  loop_.Stop();
                                });
  if (!process.ok()) return Annotate(process.status(), "start {}", program);
  running.process = std::move(process).value();
  if (std::find(order_.begin(), order_.end(), program) == order_.end()) order_.push_back(program);
  return OkStatus();
}

void DemoPrograms::WaitForEnd(const std::string& program, Duration limit) {
  Running& running = running_.at(program);
  const Time end = loop_.Now() + limit;
  const Timer timer = loop_.At(end, [this] { loop_.Stop(); });
  while (!running.exit && loop_.Now() < end) loop_.Run();
  if (!running.exit) running.process.reset();
}

std::vector<std::string> DemoPrograms::DriverArguments(const std::string& kind) const {
  return {settings_.bin_directory + "/galen-driver",
          kind,
          "--node",
          settings_.node,
          "--kubeconfig",
          place_.kubeconfig(),
          "--kubelet-root",
          place_.kubelet_root(),
          "--cdi-root",
          place_.cdi_root(),
          "--state-dir",
          place_.directory + "/" + kind,
          "--metrics-address",
          "127.0.0.1:0"};
}

std::string DemoPrograms::LinkSysfs() const {
  return "/proc/" + std::to_string(pid("link")) + "/root/sys";
}

}  // namespace galen::cli
