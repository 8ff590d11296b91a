#include "driver/driver_program.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "base/environment.h"
#include "base/files/boot_id.h"
#include "base/files/posix_file_system.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "driver/device_driver.h"
#include "driver/gpu_hardware.h"
#include "driver/nic_hardware.h"
#include "kube/exec_runner.h"
#include "kube/transport.h"
#include "probes/kernel_log/dev_kmsg.h"
#include "probes/network/link_watch.h"
#include "sdk/driver_options.h"
#include "web/admin_server.h"

namespace galen::device_driver {
namespace {

// One file for all instances of a driver: what the outgoing one knows of the hardware (a lost GPU,
// the place in the kernel's log) must be known to the one that follows it in a rolling update. Each
// writes it whole, and what both look at is the same.
std::string StatePath(const DriverConfig& config) {
  return StateDirectory(config) + "/probes.json";
}

// All parts of the process, in the order in which they need each other.
class Program {
 public:
  Program(std::unique_ptr<EpollLoop> loop, DriverConfig config, LogLevel level)
      : loop_(std::move(loop)),
        config_(std::move(config)),
        log_(level, [this] { return loop_->WallNow(); }, StderrSink()) {}

  // Everything that can be wrong before anything is started.
  Status Prepare();
  Status Start();
  void Run() { loop_->Run(); }
  Log& log() { return log_; }

 private:
  // What an earlier process of this boot knew. A file of another boot counts for nothing.
  Status PrepareState();
  Status PrepareHardware();
  Status PrepareApi();
  Status StartAdmin();
  Status Listen(NicHardware::LinkNews news);

  std::unique_ptr<EpollLoop> loop_;
  const DriverConfig config_;
  Log log_;
  Metrics metrics_;
  Random random_{Random::Seed()};
  PosixFileSystem files_;
  probes::RuleTable rules_;
  std::unique_ptr<probes::StateFile> state_;
  std::unique_ptr<probes::LinkWatch> links_;
  std::unique_ptr<Hardware> hardware_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> transport_;
  std::unique_ptr<kube::Client> api_;
  std::unique_ptr<net::SocketHost> sockets_;
  std::unique_ptr<DeviceDriver> driver_;
  net::AdminPage page_{metrics_};
  std::unique_ptr<web::AdminServer> admin_;
  std::unique_ptr<SignalWatch> signals_;
};

Status Program::PrepareState() {
  ASSIGN_OR_RETURN(std::string boot_id, ReadBootId(files_));
  RETURN_IF_ERROR(files_.MakeDirectories(StateDirectory(config_), 0755));
  state_ =
      std::make_unique<probes::StateFile>(files_, log_, StatePath(config_), std::move(boot_id));
  state_->Load();
  return OkStatus();
}

Status Program::Listen(NicHardware::LinkNews news) {
  ASSIGN_OR_RETURN(links_,
                   probes::LinkWatch::Start(*loop_, config_.network_namespace, std::move(news)));
  return OkStatus();
}

Status Program::PrepareHardware() {
  if (config_.kind == Kind::kNic) {
    hardware_ = std::make_unique<NicHardware>(
        *loop_, files_,
        probes::NetworkProbe::Options{.sysfs_root = config_.sysfs_root,
                                      .patterns = config_.interfaces},
        [this](NicHardware::LinkNews news) { return Listen(std::move(news)); });
    return OkStatus();
  }
  std::unique_ptr<probes::KernelLogSource> kernel_log;
  if (!config_.kernel_log.empty()) {
    ASSIGN_OR_RETURN(kernel_log, probes::DevKmsg::Open(*loop_, config_.kernel_log));
  }
  hardware_ = std::make_unique<GpuHardware>(
      GpuHardware::Parts{*loop_, log_, metrics_, *state_, rules_},
      GpuHardware::Options{.count = static_cast<int>(config_.devices),
                           .seed = config_.driver.name + "/" + config_.driver.node,
                           .shared = config_.shared},
      std::move(kernel_log));
  return OkStatus();
}

Status Program::PrepareApi() {
  dialer_ = net::MakeDialer(*loop_);
  exec_ = kube::MakeExecRunner(*loop_);
  kube::KubeconfigOptions where;
  where.path = config_.driver.kubeconfig;
  ASSIGN_OR_RETURN(kube::ClusterConfig cluster, kube::FindConfig(files_, ReadEnvironment(), where));
  ASSIGN_OR_RETURN(transport_, kube::Transport::Create(*loop_, log_, *dialer_, files_, *exec_,
                                                       std::move(cluster)));
  api_ = std::make_unique<kube::Client>(*loop_, *transport_);
  return OkStatus();
}

Status Program::Prepare() {
  RETURN_IF_ERROR(Validate(config_));
  ASSIGN_OR_RETURN(rules_, LoadRules(files_, config_));
  RETURN_IF_ERROR(PrepareApi());
  RETURN_IF_ERROR(PrepareState());
  RETURN_IF_ERROR(PrepareHardware());
  sockets_ = net::MakeSocketHost(*loop_, log_);
  ASSIGN_OR_RETURN(
      driver_, DeviceDriver::Create({{*loop_, log_, metrics_, random_, files_, *sockets_, *api_},
                                     *state_,
                                     rules_,
                                     *hardware_},
                                    config_));
  return OkStatus();
}

Status Program::StartAdmin() {
  page_.AddCheck("driver", [this] { return driver_->WhyNotReady(); });
  if (config_.metrics_address.empty()) return OkStatus();
  ASSIGN_OR_RETURN(admin_, web::AdminServer::Start(*loop_, log_, files_,
                                                   {.address = config_.metrics_address}, page_));
  log_.Info("metrics are served", {{"address", admin_->address()}});
  return OkStatus();
}

Status Program::Start() {
  ASSIGN_OR_RETURN(
      signals_, SignalWatch::Start(*loop_, [this] { driver_->Stop([this] { loop_->Stop(); }); }));
  RETURN_IF_ERROR(StartAdmin());
  RETURN_IF_ERROR(driver_->Start());
  log_.Info("driver is running", {{"driver", config_.driver.name},
                                  {"node", config_.driver.node},
                                  {"socket", driver_->paths().data}});
  return OkStatus();
}

int Fail(const Status& status, int code) {
  fmt::print(stderr, "galen-driver: {}\n", status.message());
  return code;
}

}  // namespace

Status CheckDriver(DriverConfig config) {
  if (config.driver.node.empty()) config.driver.node = NodeNameFromEnv();
  PosixFileSystem files;
  kube::KubeconfigOptions where;
  where.path = config.driver.kubeconfig;
  const Status cluster = kube::FindConfig(files, ReadEnvironment(), where).status();
  std::string faults;
  for (const Status& status : {Validate(config), LoadRules(files, config).status(),
                               cluster.ok() ? cluster : Annotate(cluster, "--kubeconfig")}) {
    if (!status.ok()) faults += (faults.empty() ? "" : "\n") + status.message();
  }
  return faults.empty() ? OkStatus() : Status(Code::kInvalidArgument, faults);
}

int RunDriver(DriverConfig config) {
  constexpr int kExitFailed = 1;
  if (config.driver.node.empty()) config.driver.node = NodeNameFromEnv();
  StatusOr<std::unique_ptr<EpollLoop>> loop = EpollLoop::Create();
  if (!loop.ok()) return Fail(loop.status(), kExitFailed);
  const StatusOr<LogLevel> level = ParseLogLevel(config.driver.log_level);
  if (!level.ok()) return Fail(level.status(), kExitUsage);
  Program program(*std::move(loop), std::move(config), *level);
  if (const Status status = program.Prepare(); !status.ok()) {
    // NotFound is a file or a credential that the configuration names.
    const bool usage = status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound;
    return Fail(status, usage ? kExitUsage : kExitFailed);
  }
  if (const Status status = program.Start(); !status.ok()) return Fail(status, kExitFailed);
  program.Run();
  return 0;
}

}  // namespace galen::device_driver
