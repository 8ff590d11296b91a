// Its links are tested by tests/e2e/demo_test.cc, which plays the demo in batch.
#include "cli/demo/demo_programs.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "cli/await.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

// For the API server; its log gets its last lines in this time.
constexpr Duration kEndApiWithin = 500ms;
// After SIGKILL the kernel needs a moment.
constexpr Duration kKilledWithin = 1500ms;
constexpr Duration kLinkWithin = 10s;
constexpr Duration kLookForLinkEvery = 20ms;
// Ample for a loaded machine; each program starts in milliseconds.
constexpr Duration kServesWithin = 20s;
// Too short for a person to notice; nothing is measured before the file exists.
constexpr Duration kLookForFileEvery = 20ms;

// sysfs shows the interfaces of the namespace it was mounted in, so it is mounted anew in there.
constexpr std::string_view kNamespaceScript =
    "mount -t sysfs sysfs /sys && ip link set lo up && "
    "ip link add rail0 type veth peer name rail1 && ip link set rail1 up && ip link set rail0 up "
    "&& exec sleep infinity";

// The program that the others talk to.
const std::string kApi = "galen-sim";

}  // namespace

DemoPrograms::DemoPrograms(EpollLoop& loop, DemoPlace place, Settings settings, OnDeath on_death)
    : loop_(loop),
      place_(std::move(place)),
      settings_(std::move(settings)),
      privileged_(geteuid() == 0),
      on_death_(std::move(on_death)) {}

DemoPrograms::~DemoPrograms() { StopAll(); }

Status DemoPrograms::StartApi() {
  std::vector<std::string> command = {settings_.bin_directory + "/galen-sim", "--listen",
                                      "127.0.0.1:0", "--kubeconfig-out", place_.kubeconfig()};
  command.insert(command.end(), settings_.api_arguments.begin(), settings_.api_arguments.end());
  RETURN_IF_ERROR(Start(kApi, std::move(command)));
  // It writes its kubeconfig last.
  return WaitForFile(place_.kubeconfig(), kApi);
}

Status DemoPrograms::WaitForFile(const std::string& path, const std::string& program) {
  const Time end = loop_.Now() + kServesWithin;
  while (access(path.c_str(), R_OK) != 0) {
    if (settings_.interrupt != nullptr) RETURN_IF_ERROR(settings_.interrupt->why());
    if (loop_.Now() > end) {
      return DeadlineExceeded("{} serves nothing; see {}", program, place_.log(program));
    }
    const Timer pause = loop_.After(kLookForFileEvery, [this] { loop_.Stop(); });
    loop_.Run();
  }
  return OkStatus();
}

Status DemoPrograms::StartAgent() {
  std::vector<std::string> command = {settings_.bin_directory + "/galen-agent",
                                      "--role",
                                      "manager",
                                      "--node",
                                      settings_.node,
                                      "--kubeconfig",
                                      place_.kubeconfig(),
                                      "--kubelet-root",
                                      place_.kubelet_root(),
                                      "--state-dir",
                                      place_.agent_state(),
                                      "--socket",
                                      place_.agent_socket(),
                                      "--metrics-address",
                                      "127.0.0.1:0"};
  const auto& more = settings_.agent_arguments;
  command.insert(command.end(), more.begin(), more.end());
  return Start("galen-agent", std::move(command));
}

Status DemoPrograms::StartGpuDriver() {
  std::vector<std::string> command = DriverArguments("gpu");
  if (settings_.kernel_log) command.insert(command.end(), {"--kernel-log", "/dev/kmsg"});
  command.insert(command.end(), settings_.gpu_arguments.begin(), settings_.gpu_arguments.end());
  return Start("gpu-driver", std::move(command));
}

Status DemoPrograms::MakeLink() {
  std::vector<std::string> enter = {"unshare", "--net", "--mount", "--propagation", "private"};
  if (!privileged_) enter.insert(enter.end(), {"--user", "--map-root-user"});
  enter.emplace_back("--");
  RETURN_IF_ERROR(Start("link", {"sh", "-c", std::string(kNamespaceScript)}, std::move(enter)));
  const Time end = loop_.Now() + kLinkWithin;
  while (access((LinkSysfs() + "/class/net/rail0/carrier").c_str(), R_OK) != 0) {
    // The script's process runs as long as the namespace is needed: its end means that a step
    // failed.
    if (running_.at("link").exit || loop_.Now() > end) {
      return Unavailable("a network namespace with a veth pair could not be made{}; see {}",
                         privileged_ ? "" : " without root (are user namespaces allowed here?)",
                         place_.log("link"));
    }
    if (settings_.interrupt != nullptr) RETURN_IF_ERROR(settings_.interrupt->why());
    const Timer pause = loop_.After(kLookForLinkEvery, [this] { loop_.Stop(); });
    loop_.Run();
  }
  return OkStatus();
}

// Only root of the link's user namespace may enter its network namespace.
std::vector<std::string> DemoPrograms::AsOwnerOfLink(std::vector<std::string> enter) const {
  std::vector<std::string> command = {"nsenter", "--target", std::to_string(pid("link"))};
  if (!privileged_) command.insert(command.end(), {"--user", "--preserve-credentials"});
  command.insert(command.end(), enter.begin(), enter.end());
  return command;
}

Status DemoPrograms::StartNicDriver() {
  std::vector<std::string> command = DriverArguments("nic");
  command.insert(command.end(),
                 {"--interfaces", "rail0", "--sysfs-root", LinkSysfs(), "--network-namespace",
                  "/proc/" + std::to_string(pid("link")) + "/ns/net"});
  std::vector<std::string> enter;
  if (!privileged_) enter = AsOwnerOfLink({"--"});
  return Start("nic-driver", std::move(command), std::move(enter));
}

Status DemoPrograms::Kill(const std::string& program) {
  Running& running = running_.at(program);
  running.asked_to_end = true;
  running.process->Signal(SIGKILL);
  WaitUntil(loop_.Now() + kKilledWithin, [&running] { return running.exit.has_value(); });
  return OkStatus();
}

Status DemoPrograms::SetLink(const std::string& state) {
  const std::vector<std::string> command =
      AsOwnerOfLink({"--net", "ip", "link", "set", "rail0", state});
  std::unique_ptr<Process> process;
  const StatusOr<int> code = Await<int>(
      loop_,
      [&](std::function<void(StatusOr<int>)> done) {
        auto started =
            Process::Start(loop_,
                           {.command = command,
                            .environment = {},
                            .directory = "",
                            .output_path = place_.log("link"),
                            .on_output = {}},
                           [done](Process::Exit exit) { done(exit.code + exit.signal); });
        if (!started.ok()) return loop_.Post([done, s = started.status()] { done(s); });
        process = std::move(started).value();
      },
      settings_.interrupt);
  if (!code.ok()) return code.status();
  return *code == 0 ? OkStatus() : Internal("ip link set rail0 {} ended with {}", state, *code);
}

pid_t DemoPrograms::pid(const std::string& program) const {
  return running_.at(program).process->pid();
}

void DemoPrograms::StopAll() {
  const auto end = [this](const std::string& program) {
    Running& running = running_.at(program);
    running.asked_to_end = true;
    if (running.process) running.process->Signal(SIGTERM);
  };
  const auto ended = [this](const std::string& program) {
    const Running& running = running_.at(program);
    return !running.process || running.exit;
  };
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    if (*it != kApi) end(*it);
  }
  WaitUntil(loop_.Now() + settings_.end_others_within, [&] {
    return std::all_of(order_.begin(), order_.end(),
                       [&](const std::string& name) { return name == kApi || ended(name); });
  });
  if (running_.contains(kApi)) {
    end(kApi);
    WaitUntil(loop_.Now() + kEndApiWithin, [&] { return ended(kApi); });
  }
  // Destroying a process kills it, if it did not end by SIGTERM.
  running_.clear();
  order_.clear();
}

// Each program has a session of its own, so that Ctrl-C on the terminal reaches only this program,
// which ends the others in order. If this program is killed, the kernel ends them
// (PR_SET_PDEATHSIG, set after `enter`, because a change of user namespace clears it, prctl(2)).
Status DemoPrograms::Start(const std::string& program, std::vector<std::string> command,
                           std::vector<std::string> enter) {
  Running& running = running_[program];
  running = Running();
  command.insert(command.begin(), {"setpriv", "--pdeathsig", "TERM", "setsid"});
  command.insert(command.begin(), enter.begin(), enter.end());
  auto process = Process::Start(loop_,
                                {.command = std::move(command),
                                 .environment = {},
                                 .directory = "",
                                 .output_path = place_.log(program),
                                 .on_output = {}},
                                [this, program](Process::Exit exit) { OnExit(program, exit); });
  if (!process.ok()) return Annotate(process.status(), "start {}", program);
  running.process = std::move(process).value();
  if (std::find(order_.begin(), order_.end(), program) == order_.end()) order_.push_back(program);
  return OkStatus();
}

void DemoPrograms::OnExit(const std::string& program, Process::Exit exit) {
  Running& ended = running_.at(program);
  ended.exit = exit;
  loop_.Stop();
  if (ended.asked_to_end) return;
  const std::string how = exit.signal != 0 ? fmt::format("was ended by signal {}", exit.signal)
                                           : fmt::format("ended with exit code {}", exit.code);
  on_death_(program, exit, fmt::format("{} {}; its log is {}", program, how, place_.log(program)));
}

void DemoPrograms::WaitUntil(Time end, const std::function<bool()>& done) {
  const Timer timer = loop_.At(end, [this] { loop_.Stop(); });
  while (!done() && loop_.Now() < end) loop_.Run();
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
