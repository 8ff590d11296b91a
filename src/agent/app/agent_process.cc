#include "agent/app/agent_process.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "agent/agent_metrics.h"
#include "base/environment.h"
#include "base/version.h"

namespace galen::agent {
namespace {

// Less than the 30 s that Kubernetes gives a Pod to end.
constexpr Duration kStopDeadline = std::chrono::seconds(5);
// The containers' PATH where ours is not set, as in a login shell of Debian.
constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

StatusOr<AgentConfig> PrepareConfig(const AgentFlags& flags) {
  PosixFileSystem files;
  ConfigFaults faults;
  AgentConfig config = LoadConfig(files, ReadEnvironment(), flags, faults);
  CheckProcesses(config, ::geteuid(), faults);
  PreparePlaces(files, ReadEnvironment(), config, faults);
  RETURN_IF_ERROR(faults.ToStatus());
  return config;
}

StatusOr<std::unique_ptr<AgentProcess>> AgentProcess::Create(AgentConfig config) {
  std::unique_ptr<ProcessKeeper> keeper;
  if (config.containers == Containers::kProcesses) {
    ASSIGN_OR_RETURN(keeper, ProcessKeeper::Start());
  }
  ASSIGN_OR_RETURN(std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(std::unique_ptr<DiskThread> disk, DiskThread::Start(*loop, "disk"));
  return std::unique_ptr<AgentProcess>(
      new AgentProcess(std::move(loop), std::move(disk), std::move(config), std::move(keeper)));
}

AgentProcess::AgentProcess(std::unique_ptr<EpollLoop> loop, std::unique_ptr<DiskThread> disk,
                           AgentConfig config, std::unique_ptr<ProcessKeeper> keeper)
    : loop_(std::move(loop)),
      config_(std::move(config)),
      log_(
          config_.log_level, [this] { return loop_->WallNow(); }, StderrSink()),
      disk_(std::move(disk)),
      registry_(*loop_, config_.registry_directory()),
      health_sources_(*loop_, config_.health_sources_directory(), ::geteuid()),
      keeper_(std::move(keeper)),
      service_manager_(*loop_, ReadEnvironment(), ::getpid()) {}

Status AgentProcess::PrepareApi() {
  dialer_ = net::MakeDialer(*loop_);
  exec_ = kube::MakeExecRunner(*loop_);
  ASSIGN_OR_RETURN(kube::ClusterConfig cluster,
                   kube::FindConfig(files_, ReadEnvironment(), config_.kubeconfig));
  ASSIGN_OR_RETURN(transport_, kube::Transport::Create(*loop_, log_, *dialer_, files_, *exec_,
                                                       std::move(cluster)));
  refusals_ = std::make_unique<kube::RefusalWatch>(
      *loop_, log_, *transport_,
      config_.role == Role::kManager ? "deploy/examples/manager.yaml" : "deploy/galen.yaml");
  refusals_->OnRestored([this] {
    if (app_) app_->Retry();
  });
  return OkStatus();
}

Status AgentProcess::PrepareProcesses() {
  if (!keeper_) return OkStatus();
  if (::geteuid() == 0) {
    log_.Warning(
        "containers of every Pod run as root of this machine, as the operator has allowed");
  }
  processes_ = std::make_unique<PosixContainerProcesses>(*loop_, log_, std::move(keeper_),
                                                         config_.pods_directory());
  ASSIGN_OR_RETURN(container_disk_, DiskThread::Start(*loop_, "containers"));
  return OkStatus();
}

Status AgentProcess::Start() {
  // Before anything of the state directory is read: two agents of one node would overwrite what the
  // other publishes on Pods.
  ASSIGN_OR_RETURN(lock_, NodeLock::Take(config_.state_dir + "/lock"));
  ASSIGN_OR_RETURN(node_lock_, NodeLock::TakeRegistry(config_.registry_directory()));
  // Signals are read by the loop, which does not run before Run(): app_ is there by then.
  ASSIGN_OR_RETURN(signals_, SignalWatch::Start(*loop_, [this] {
                     service_manager_.Stopping();
                     // From here on the socket is not made again when somebody removes it.
                     inspect_->Stop();
                     app_->Stop(kStopDeadline, [this] { loop_->Stop(); });
                   }));
  RETURN_IF_ERROR(PrepareProcesses());
  ASSIGN_OR_RETURN(app_, AgentApp::Create({*loop_, log_, metrics_, random_, files_, *dialer_,
                                           *refusals_, registry_, processes_.get(),
                                           Lookup(ReadEnvironment(), "PATH").value_or(kDefaultPath),
                                           disk_.get(), container_disk_.get(), &health_sources_},
                                          config_, std::string(kVersion)));
  // The socket is made again when somebody removes it.
  sockets_ = net::MakeSocketHost(*loop_, log_);
  inspect_.emplace(net::SocketKeeper::Parts{*loop_, log_, random_, files_, *sockets_},
                   config_.socket, gate_.emplace(log_, ::geteuid(), app_->inspect()));
  RETURN_IF_ERROR(inspect_->Start());
  DescribeItself();
  return OkStatus();
}

void AgentProcess::DescribeItself() {
  metrics_.OnCollect([this](Metrics& metrics) {
    const EpollLoop::Steps& steps = loop_->steps();
    metrics.Set(metric::kLongestStep, {}, std::chrono::duration<double>(steps.longest).count());
    metrics.Set(metric::kLongSteps, {}, static_cast<double>(steps.long_ones));
  });
  page_.AddCheck("agent", [this] { return WhyNotReady(); });
  // An agent that may not write to Pods is of no use, whatever it knows.
  page_.AddCheck("permissions", [this] {
    const std::vector<std::string> missing = refusals_->missing();
    return missing.empty() ? "" : fmt::format("cannot {}", fmt::join(missing, "; "));
  });
  page_.AddNote("troubles",
                [this] { return fmt::format("{}", fmt::join(app_->troubles(), "; ")); });
}

// The first step that is missing; later ones wait for it anyway.
std::string AgentProcess::WhyNotReady() const {
  for (const StartStep& step : app_->start_steps()) {
    if (!step.done) return "not yet: " + step.name;
  }
  return "";
}

void AgentProcess::Run() {
  app_->Start();
  // The loop has begun by then.
  loop_->Post([this] { service_manager_.Ready(); });
  loop_->Run();
  // Unfinished writes are lost, which the log says.
  const bool written = disk_->idle() && (!container_disk_ || container_disk_->idle());
  if (!written) std::_Exit(EXIT_FAILURE);
}

}  // namespace galen::agent
