#include "bin/agent_program.h"

#include <fmt/ranges.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "agent/app/agent_app.h"
#include "agent/app/node_lock.h"
#include "agent/containers/posix_container_processes.h"
#include "agent/drivers/posix_socket_directory.h"
#include "base/environment.h"
#include "base/files/posix_file_system.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "base/version.h"
#include "kube/exec_runner.h"
#include "kube/refusal_watch.h"
#include "kube/transport.h"
#include "net/endpoint/socket_keeper.h"
#include "web/admin_server.h"
#include "web/probe_page.h"

namespace galen::agent_program {
namespace {

constexpr int kExitFailed = 1;
// Less than the 30 s that Kubernetes gives a Pod to end.
constexpr Duration kStopDeadline = std::chrono::seconds(5);
// For containers where we were started without a PATH; as a login shell of Debian has it.
constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

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
  // Containers as processes, where the configuration asks for them.
  void PrepareProcesses();
  // Takes the node, then starts what others can see: sockets last.
  // The inspect socket, made again when somebody removes it, and the pages that are asked for.
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
  std::unique_ptr<kube::RefusalWatch> refusals_;
  std::unique_ptr<agent::PosixContainerProcesses> processes_;
  std::unique_ptr<agent::AgentApp> app_;
  std::unique_ptr<net::SocketHost> sockets_;
  std::optional<net::SocketKeeper> inspect_;
  net::AdminPage page_{metrics_};
  web::ProbePage probe_page_{page_};
  std::unique_ptr<web::AdminServer> admin_, probes_;
  std::unique_ptr<SignalWatch> signals_;
};

Status Program::PrepareApi() {
  dialer_ = net::MakeDialer(*loop_);
  exec_ = kube::MakeExecRunner(*loop_);
  ASSIGN_OR_RETURN(kube::ClusterConfig cluster,
                   kube::FindConfig(files_, ReadEnvironment(), config_.kubeconfig));
  ASSIGN_OR_RETURN(transport_, kube::Transport::Create(*loop_, log_, *dialer_, files_, *exec_,
                                                       std::move(cluster)));
  refusals_ = std::make_unique<kube::RefusalWatch>(
      *loop_, log_, *transport_,
      config_.role == agent::Role::kManager ? "deploy/examples/manager.yaml" : "deploy/galen.yaml");
  refusals_->OnRestored([this] {
    if (app_) app_->Retry();
  });
  return OkStatus();
}

void Program::PrepareProcesses() {
  if (config_.containers != agent::Containers::kProcesses) return;
  if (::geteuid() == 0) {
    log_.Warning(
        "containers of every Pod run as root of this machine, as the operator has allowed");
  }
  processes_ = std::make_unique<agent::PosixContainerProcesses>(*loop_, config_.pods_directory());
}

Status Program::Start() {
  // Before anything of the state directory is read: two agents of one node would overwrite each
  // other's word on the Pods.
  ASSIGN_OR_RETURN(lock_, agent::NodeLock::Take(config_.state_dir + "/lock"));
  ASSIGN_OR_RETURN(node_lock_, agent::NodeLock::TakeRegistry(config_.registry_directory()));
  // Signals are read by the loop, which does not run before Run(): app_ is there by then.
  ASSIGN_OR_RETURN(signals_, SignalWatch::Start(*loop_, [this] {
                     // Who removes its place now shall find nothing there again.
                     inspect_->Stop();
                     app_->Stop(kStopDeadline, [this] { loop_->Stop(); });
                   }));
  PrepareProcesses();
  ASSIGN_OR_RETURN(app_,
                   agent::AgentApp::Create(
                       {*loop_, log_, metrics_, random_, files_, *dialer_, *refusals_, registry_,
                        processes_.get(), Lookup(ReadEnvironment(), "PATH").value_or(kDefaultPath)},
                       config_, std::string(kVersion)));
  RETURN_IF_ERROR(Serve());
  app_->Start();
  return OkStatus();
}

Status Program::Serve() {
  sockets_ = net::MakeSocketHost(*loop_, log_);
  inspect_.emplace(net::SocketKeeper::Parts{*loop_, log_, random_, files_, *sockets_},
                   config_.socket, app_->inspect());
  RETURN_IF_ERROR(inspect_->Start());
  page_.AddCheck("agent", [this] { return WhyNotReady(); });
  // An agent that may not tell Pods is of no use, whatever it knows.
  page_.AddCheck("permissions", [this] {
    const std::vector<std::string> missing = refusals_->missing();
    return missing.empty() ? "" : fmt::format("cannot {}", fmt::join(missing, "; "));
  });
  page_.AddNote("troubles",
                [this] { return fmt::format("{}", fmt::join(app_->troubles(), "; ")); });
  // The checks above cost nothing unserved.
  if (!config_.metrics_address.empty()) {
    ASSIGN_OR_RETURN(admin_,
                     web::AdminServer::Start(*loop_, log_, files_,
                                             {.address = config_.metrics_address,
                                              .certificate_file = config_.metrics_certificate,
                                              .key_file = config_.metrics_key,
                                              .token_file = config_.metrics_token_file},
                                             page_));
    log_.Info("metrics are served", {{"address", admin_->address()}});
  }
  if (!config_.probes_address.empty()) {
    ASSIGN_OR_RETURN(
        probes_, web::AdminServer::Start(*loop_, log_, files_, {.address = config_.probes_address},
                                         probe_page_));
    log_.Info("probes are served", {{"address", probes_->address()}});
  }
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

// A first list or a burst of reports takes megabytes for a moment. Left to itself glibc learns from
// them to serve such pieces from the heap, where a small one that stays keeps all of it resident.
void GiveLargePiecesBack() { mallopt(M_MMAP_THRESHOLD, 128 * 1024); }

}  // namespace

int RunAgent(const agent::AgentFlags& flags) {
  GiveLargePiecesBack();
  PosixFileSystem files;
  agent::ConfigFaults faults;
  agent::AgentConfig config = agent::LoadConfig(files, ReadEnvironment(), flags, faults);
  agent::CheckProcesses(config, ::geteuid(), faults);
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
