#include "bin/agent_program.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "agent/agent_app.h"
#include "agent/node_lock.h"
#include "agent/permissions.h"
#include "agent/posix_socket_directory.h"
#include "base/environment.h"
#include "base/epoll_loop.h"
#include "base/posix_file_system.h"
#include "base/signal.h"
#include "base/version.h"
#include "kube/exec_runner.h"
#include "kube/transport.h"
#include "net/server.h"
#include "web/admin_server.h"

namespace galen::agent_program {
namespace {

constexpr int kExitFailed = 1;
// Less than the 30 s that Kubernetes gives a Pod to end.
constexpr Duration kStopDeadline = std::chrono::seconds(5);

// All parts of the process. Members stand in the order in which they need each other and end in the
// opposite one: servers before the agent they ask, the agent before its edges.
class Program {
 public:
  Program(std::unique_ptr<EpollLoop> loop, agent::AgentConfig config)
      : loop_(std::move(loop)),
        config_(std::move(config)),
        log_(
            config_.log_level, [this] { return loop_->WallNow(); }, StderrSink()),
        registry_(*loop_, config_.registry_directory()) {}

  // Everything that can be wrong with the configuration, before anything is started or written.
  Status PrepareApi();
  Status Start();
  void Run() { loop_->Run(); }

 private:
  // Takes the node, then starts what others can see: sockets last.
  // The inspect socket, and the admin page where one is asked for.
  Status Serve();
  std::string WhyNotReady() const;

  std::unique_ptr<EpollLoop> loop_;
  const agent::AgentConfig config_;
  Log log_;
  Metrics metrics_;
  Random random_{Random::Seed()};
  PosixFileSystem files_;
  agent::PosixSocketDirectory registry_;
  std::unique_ptr<agent::NodeLock> lock_, node_lock_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> transport_;
  std::unique_ptr<agent::Permissions> permissions_;
  std::unique_ptr<agent::AgentApp> app_;
  std::unique_ptr<net::Server> inspect_;
  net::AdminPage page_{metrics_};
  std::unique_ptr<web::AdminServer> admin_;
  std::unique_ptr<SignalWatch> signals_;
};

Status Program::PrepareApi() {
  dialer_ = net::MakeDialer(*loop_);
  exec_ = kube::MakeExecRunner(*loop_);
  ASSIGN_OR_RETURN(kube::ClusterConfig cluster,
                   kube::FindConfig(files_, ReadEnvironment(), config_.kubeconfig));
  ASSIGN_OR_RETURN(transport_, kube::Transport::Create(*loop_, log_, *dialer_, files_, *exec_,
                                                       std::move(cluster)));
  permissions_ = std::make_unique<agent::Permissions>(
      *loop_, log_, *transport_,
      config_.role == agent::Role::kManager ? "deploy/examples/manager.yaml" : "deploy/galen.yaml");
  permissions_->OnRestored([this] {
    if (app_) app_->Retry();
  });
  return OkStatus();
}

Status Program::Start() {
  // Before anything of the state directory is read: two agents of one node would overwrite each
  // other's word on the Pods.
  ASSIGN_OR_RETURN(lock_, agent::NodeLock::Take(config_.state_dir + "/lock"));
  ASSIGN_OR_RETURN(node_lock_, agent::NodeLock::TakeRegistry(config_.registry_directory()));
  // Signals are read by the loop, which does not run before Run(): app_ is there by then.
  ASSIGN_OR_RETURN(signals_, SignalWatch::Start(*loop_, [this] {
                     app_->Stop(kStopDeadline, [this] { loop_->Stop(); });
                   }));
  ASSIGN_OR_RETURN(app_, agent::AgentApp::Create({*loop_, log_, metrics_, random_, files_, *dialer_,
                                                  *permissions_, registry_},
                                                 config_, std::string(kVersion)));
  RETURN_IF_ERROR(Serve());
  app_->Start();
  return OkStatus();
}

Status Program::Serve() {
  ASSIGN_OR_RETURN(inspect_, net::Server::Start(*loop_, log_, {.address = "unix:" + config_.socket},
                                                app_->inspect()));
  page_.AddCheck("agent", [this] { return WhyNotReady(); });
  // An agent that may not tell Pods is of no use, whatever it knows.
  page_.AddCheck("permissions", [this] {
    const std::vector<std::string> missing = permissions_->missing();
    return missing.empty() ? "" : fmt::format("cannot {}", fmt::join(missing, "; "));
  });
  page_.AddNote("troubles",
                [this] { return fmt::format("{}", fmt::join(app_->troubles(), "; ")); });
  // The checks above cost nothing unserved.
  if (config_.metrics_address.empty()) return OkStatus();
  ASSIGN_OR_RETURN(admin_, web::AdminServer::Start(*loop_, log_, config_.metrics_address, page_));
  return OkStatus();
}

// The first step that is missing; later ones wait for it anyway.
std::string Program::WhyNotReady() const {
  for (const agent::Readiness& step : app_->readiness()) {
    if (!step.done) return "not yet: " + step.name;
  }
  return "";
}

int Fail(const Status& status, int code) {
  fmt::print(stderr, "galen-agent: {}\n", status.message());
  return code;
}

}  // namespace

int RunAgent(const agent::AgentFlags& flags) {
  PosixFileSystem files;
  agent::ConfigFaults faults;
  agent::AgentConfig config = agent::LoadConfig(files, ReadEnvironment(), flags, faults);
  agent::PreparePlaces(files, ReadEnvironment(), config, faults);
  if (const Status status = faults.ToStatus(); !status.ok()) {
    // A directory that cannot be made may be in a moment.
    return Fail(status, status.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed);
  }
  StatusOr<std::unique_ptr<EpollLoop>> loop = EpollLoop::Create();
  if (!loop.ok()) return Fail(loop.status(), kExitFailed);
  Program program(*std::move(loop), std::move(config));
  // A kubeconfig that is missing or wrong is the operator's to repair, as a wrong flag is.
  if (const Status status = program.PrepareApi(); !status.ok()) return Fail(status, kExitUsage);
  if (const Status status = program.Start(); !status.ok()) return Fail(status, kExitFailed);
  program.Run();
  return 0;
}

}  // namespace galen::agent_program
