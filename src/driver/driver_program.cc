// Tested by tests/e2e/driver_fault_test.cc and tests/e2e/conformance_test.cc: real processes.
#include "driver/driver_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/files/boot_id.h"
#include "base/files/detached_queue.h"
#include "base/files/disk_thread.h"
#include "base/files/posix_file_system.h"
#include "base/start_deadline.h"
#include "driver/checked_hardware.h"
#include "driver/device_driver.h"
#include "driver/hardware.h"
#include "driver/nvidia_files.h"
#include "driver/rules_file.h"
#include "driver/sysfs_hardware.h"
#include "probes/command/command_runner.h"
#include "probes/exporter/exporter_fetch.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/network/network_interface.h"
#include "probes/nvml/nvml_library.h"
#include "probes/sysfs/pci_device.h"
#include "probes/sysfs/uevent_watch.h"
#include "sdk/app/driver_inside.h"
#include "sdk/app/driver_options.h"

namespace galen::device_driver {
namespace {

// One file for all instances of a driver: what the outgoing one knows of the hardware (a lost GPU,
// the place in the kernel's log) must be known to the one that follows it in a rolling update. Each
// writes it whole, and both look at the same hardware.
std::string StatePath(const DriverConfig& config) {
  return StateDirectory(config) + "/probes.json";
}

// NVML blocks for ever on a machine with a GPU that hangs, and the driver must not seem to be
// starting for ever. GPUs take some seconds each to initialise without the persistence daemon.
constexpr std::chrono::seconds kNvmlStartsWithin{60};

// The driver, its hardware, and all that they need.
class Program final : private sdk::CheckSource {
 public:
  Program(Driver& driver, sdk::DriverInside inside, DriverConfig config, EndProcess end)
      : driver_(driver), inside_(inside), config_(std::move(config)), end_(std::move(end)) {}

  // Checks everything that can be wrong before anything is started.
  Status Prepare();
  Status Start();
  // At the end: keeps what is known, and ends the process where that or its own end would hang.
  void Finish(int code);

 private:
  // Loads what an earlier process of this boot knew. A file of another boot is ignored.
  Status PrepareState();
  // The hardware of the configured kind.
  Status PrepareHardware();
  // Makes the runner for the rules' commands, with control groups where this machine has them.
  std::unique_ptr<probes::CommandRunner> MakeRunner();
  // Makes the reader of `galen check` results; null when no rule needs it.
  std::unique_ptr<probes::CheckResults> MakeCheckResults();
  Status PrepareGpus();
  Status PrepareNics();
  Status PrepareNvidia();
  // Starts one thread for XIDs and one for each GPU.
  Status StartNvmlThreads(std::size_t gpus);
  Status PreparePci();
  Status PrepareSysfs();
  // The real devices that `find` returns.
  Status PrepareFound(DeviceFinder find);
  // Null when the kernel log is not to be read.
  StatusOr<std::unique_ptr<probes::KernelLogSource>> OpenKernelLog();
  // The rules that the configuration names are read anew when their file changes.
  void FollowRules();
  // The checks for `galen get checks`.
  std::vector<sdk::CheckReport> Checks() const override;
  std::vector<std::string> Troubles() const override;
  Edges TheEdges() { return {inside_.loop, inside_.log, inside_.metrics, *state_, rules_}; }

  Driver& driver_;
  const sdk::DriverInside inside_;
  const DriverConfig config_;
  const EndProcess end_;
  PosixFileSystem files_;
  probes::RuleTable rules_;
  std::string boot_id_;
  std::unique_ptr<probes::StateFile> state_;
  std::unique_ptr<probes::LinkWatch> links_;
  std::unique_ptr<probes::PermanentAddresses> addresses_;
  std::unique_ptr<probes::UeventWatch> uevents_;
  std::unique_ptr<probes::NvmlLibrary> nvml_;
  std::vector<std::unique_ptr<DiskQueue>> nvml_threads_;  // not passed to the hardware yet
  std::unique_ptr<Hardware> hardware_;
  const CheckedHardware* checks_ = nullptr;  // a part of hardware_; null: there are none
  std::unique_ptr<DeviceDriver> device_driver_;
  std::unique_ptr<RulesFile> rules_file_;
};

Status Program::PrepareState() {
  ASSIGN_OR_RETURN(boot_id_, ReadBootId(files_));
  RETURN_IF_ERROR(files_.MakeDirectories(StateDirectory(config_), 0755));
  ASSIGN_OR_RETURN(auto disk, DiskThread::Start(inside_.loop, "state"));
  state_ = std::make_unique<probes::StateFile>(
      probes::StateFile::Parts{inside_.loop, inside_.log, files_}, std::move(disk),
      StatePath(config_), boot_id_);
  state_->Load();
  return OkStatus();
}

Status Program::PrepareNics() {
  ASSIGN_OR_RETURN(addresses_, probes::PermanentAddresses::Open(config_.network_namespace));
  hardware_ = std::make_unique<NicHardware>(
      inside_.loop, files_,
      probes::NetworkProbe::Options{
          .sysfs_root = config_.sysfs_root,
          .patterns = config_.interfaces,
          .permanent_address = std::bind_front(&probes::PermanentAddresses::Of, addresses_.get())},
      [this](NicHardware::LinkNews news) -> Status {
        ASSIGN_OR_RETURN(links_, probes::LinkWatch::Start(inside_.loop, config_.network_namespace,
                                                          std::move(news)));
        return OkStatus();
      });
  return OkStatus();
}

StatusOr<std::unique_ptr<probes::KernelLogSource>> Program::OpenKernelLog() {
  std::unique_ptr<probes::KernelLogSource> kernel_log;
  if (!config_.kernel_log.empty()) {
    ASSIGN_OR_RETURN(kernel_log, probes::DevKmsg::Open(inside_.loop, config_.kernel_log));
  }
  return kernel_log;
}

Status Program::PrepareNvidia() {
  const StartDeadline deadline(kNvmlStartsWithin, [end = end_] {
    end(kExitFailed,
        fmt::format("NVML did not start within {} s: a GPU or its kernel module hangs; see the "
                    "kernel's log, and whether nvidia-smi answers",
                    kNvmlStartsWithin.count()));
  });
  const std::string library =
      config_.nvml.empty() ? FindNvml(files_, config_.driver_root) : config_.nvml;
  // Runs on the threads that read GPUs too, so it has its own file objects.
  const auto look_at_module = [sysfs = config_.sysfs_root, proc = config_.proc_root] {
    PosixFileSystem files;
    return probes::ReadNvmlModule(files, sysfs, proc);
  };
  ASSIGN_OR_RETURN(nvml_, probes::NvmlLibrary::Open(library, look_at_module));
  NvidiaHardware::Options options;
  ASSIGN_OR_RETURN(options.driver_version, nvml_->DriverVersion());
  ASSIGN_OR_RETURN(options.gpus, nvml_->Gpus());
  options.with_partitioned = !config_.health_only_for.empty();
  options.numa_nodes = NumaNodes(files_, config_.sysfs_root, options.gpus);
  options.find_files = [this] {
    const std::string& host = config_.host_driver_root;
    return FindNvidiaFiles(files_, config_.driver_root, host.empty() ? config_.driver_root : host);
  };
  options.find_mig_nodes = [this](int minor, const probes::NvmlPartition& partition) {
    return FindMigNodes(files_, config_.proc_root, minor, partition.gpu_instance,
                        partition.compute_instance);
  };
  options.module_version = [look_at_module] { return look_at_module().version; };
  ASSIGN_OR_RETURN(auto kernel_log, OpenKernelLog());
  RETURN_IF_ERROR(StartNvmlThreads(options.gpus.size()));
  const auto take_thread = [this] {
    std::unique_ptr<DiskQueue> thread = std::move(nvml_threads_.back());
    nvml_threads_.pop_back();
    return thread;
  };
  hardware_ = std::make_unique<NvidiaHardware>(TheEdges(), std::move(options), *nvml_, take_thread,
                                               std::move(kernel_log));
  return OkStatus();
}

Status Program::StartNvmlThreads(std::size_t gpus) {
  for (std::size_t i = 0; i < gpus + 1; ++i) {
    ASSIGN_OR_RETURN(auto thread, DiskThread::Start(inside_.loop, "nvml"));
    nvml_threads_.push_back(std::move(thread));
  }
  return OkStatus();
}

Status Program::PrepareFound(DeviceFinder find) {
  ASSIGN_OR_RETURN(auto kernel_log, OpenKernelLog());
  hardware_ = std::make_unique<SysfsHardware>(
      TheEdges(), probes::kRealSysfs,
      SysfsHardware::Options{.sysfs_root = config_.sysfs_root,
                             .find = std::move(find),
                             .listen = [this](probes::OnUevents news) -> Status {
                               ASSIGN_OR_RETURN(uevents_, probes::UeventWatch::Start(
                                                              inside_.loop, std::move(news)));
                               return OkStatus();
                             }},
      [this] { return std::make_unique<DetachedQueue>(inside_.loop, "sysfs"); },
      std::move(kernel_log));
  return OkStatus();
}

Status Program::PreparePci() {
  std::vector<probes::PciSelection> selections;
  for (const std::string& text : config_.selections) {
    ASSIGN_OR_RETURN(probes::PciSelection selection, probes::ParsePciSelection(text));
    selections.push_back(std::move(selection));
  }
  return PrepareFound(PciFinder(probes::kRealSysfs, config_.sysfs_root, std::move(selections)));
}

Status Program::PrepareSysfs() {
  return PrepareFound(PatternFinder(probes::kRealSysfs, config_.sysfs_root, config_.patterns));
}

Status Program::PrepareGpus() {
  ASSIGN_OR_RETURN(auto kernel_log, OpenKernelLog());
  auto gpus = std::make_unique<GpuHardware>(
      TheEdges(),
      GpuHardware::Options{.count = static_cast<int>(config_.devices),
                           .seed = config_.driver.name + "/" + config_.driver.node,
                           .shared = config_.shared},
      std::move(kernel_log));
  sdk::DriverInside::Simulate(driver_, *gpus);
  hardware_ = std::move(gpus);
  return OkStatus();
}

Status Program::PrepareHardware() {
  switch (config_.kind) {
    case Kind::kGpu:
      return PrepareGpus();
    case Kind::kNic:
      return PrepareNics();
    case Kind::kNvidia:
      return PrepareNvidia();
    case Kind::kPci:
      return PreparePci();
    case Kind::kSysfs:
      return PrepareSysfs();
  }
  GALEN_UNREACHABLE();
}

std::unique_ptr<probes::CheckResults> Program::MakeCheckResults() {
  if (rules_.FindSign(probes::kActiveCheckSign) == nullptr) return nullptr;
  return std::make_unique<probes::CheckResults>(
      probes::CheckResults::Parts{inside_.loop, inside_.log, inside_.metrics},
      std::make_unique<probes::DiskResultFiles>(),
      std::make_unique<DetachedQueue>(inside_.loop, "check-results"),
      fmt::format("{}/{}", StateDirectory(config_), kCheckResultsDirectory), boot_id_);
}

std::unique_ptr<probes::CommandRunner> Program::MakeRunner() {
  const bool runs_some = std::ranges::any_of(
      rules_.signs, [](const probes::SignSpec& sign) { return sign.command.has_value(); });
  if (!runs_some) return probes::MakeCommandRunner(inside_.loop);
  auto groups = probes::MakeCommandGroups();
  if (!groups->limitation().empty()) {
    inside_.log.Warning(
        "commands run without some of their limits: each process has its own of memory and time",
        {{"missing", groups->limitation()}});
  }
  return probes::MakeCommandRunner(inside_.loop, std::move(groups), inside_.log);
}

Status Program::Prepare() {
  ASSIGN_OR_RETURN(rules_, LoadRules(files_, config_));
  RETURN_IF_ERROR(PrepareState());
  RETURN_IF_ERROR(PrepareHardware());
  const bool has_checks = HasChecks(rules_);
  if (has_checks || rules_.FindSign(probes::kActiveCheckSign) != nullptr) {
    auto checked = std::make_unique<CheckedHardware>(
        TheEdges(), std::move(hardware_),
        CheckedHardware::Parts{
            .runner = MakeRunner(),
            .make_queue =
                [this] { return std::make_unique<DetachedQueue>(inside_.loop, "exporter"); },
            .fetch = probes::FetchExporter,
            .results = MakeCheckResults()});
    if (has_checks) checks_ = checked.get();
    hardware_ = std::move(checked);
  }
  if (has_checks || !config_.rules_path.empty()) sdk::DriverInside::ShowChecks(driver_, *this);
  device_driver_ = std::make_unique<DeviceDriver>(
      TheEdges(), *hardware_,
      DeviceDriver::Calls{
          .publish = [this](Inventory devices) { return driver_.Publish(std::move(devices)); },
          .health_changed = [this] { driver_.HealthChanged(); }},
      config_);
  driver_.OnPrepare([this](const DeviceClaim& claim) { return device_driver_->Prepare(claim); });
  driver_.OnDeviceEdits(
      [this](const std::string& device) { return device_driver_->EditsFor(device); });
  driver_.OnHealth(config_.poll, [this](HealthWriter& writer) { device_driver_->Report(writer); });
  return OkStatus();
}

Status Program::Start() {
  RETURN_IF_ERROR(device_driver_->Start());
  if (!config_.rules_path.empty()) FollowRules();
  return OkStatus();
}

void Program::Finish(int code) {
  hardware_->EndProcesses();
  {  // A second is long enough for a slow disk.
    const StartDeadline deadline(std::chrono::seconds(1), [end = end_] {
      end(kExitFailed, "the disk hangs: what was found last is not kept");
    });
    state_->Finish();
  }
  // A thread in a call that hangs can neither be ended nor waited for.
  if (hardware_->may_hang()) end_(code, "");
}

void Program::FollowRules() {
  rules_file_ = std::make_unique<RulesFile>(
      RulesFile::Parts{.loop = inside_.loop,
                       .log = inside_.log,
                       .metrics = inside_.metrics,
                       .queue = std::make_unique<DetachedQueue>(inside_.loop, "rules")},
      rules_,
      RulesFile::Calls{
          .read = [path = config_.rules_path] { return PosixFileSystem().Read(path); },
          .parse = [config =
                        config_](const std::string& text) { return ParseRulesFile(text, config); },
          .apply = [this](const probes::RuleTable& rules) { device_driver_->SetRules(rules); }});
  rules_file_->Start();
}

std::vector<sdk::CheckReport> Program::Checks() const {
  return checks_ != nullptr ? checks_->Checks() : std::vector<sdk::CheckReport>();
}

std::vector<std::string> Program::Troubles() const {
  std::vector<std::string> troubles = device_driver_->IdleRules();
  if (!state_->trouble().empty()) {
    troubles.push_back(fmt::format("{} is not written: {}", StatePath(config_), state_->trouble()));
  }
  if (rules_file_ != nullptr && !rules_file_->fault().empty()) {
    troubles.insert(troubles.begin(),
                    fmt::format("{} is not taken, the last good rules stay in force: {}",
                                config_.rules_path, rules_file_->fault()));
  }
  return troubles;
}

// Fills in what is not on the command line.
DriverConfig Completed(DriverConfig config) {
  if (config.driver.node.empty()) config.driver.node = NodeNameFromEnv();
  if (!config.health_only_for.empty()) config.driver.name = config.health_only_for;
  return config;
}

int Fail(const Status& status, int code) {
  std::fputs(fmt::format("galen-driver: {}\n", status.message()).c_str(), stderr);
  return code;
}

}  // namespace

Status CheckDriver(DriverConfig config) {
  config = Completed(std::move(config));
  PosixFileSystem files;
  Status cluster;
  if (config.health_only_for.empty()) cluster = sdk::FindCluster(files, config.driver).status();
  std::string faults;
  for (const Status& status : {Validate(config), LoadRules(files, config).status(),
                               cluster.ok() ? cluster : Annotate(cluster, "--kubeconfig")}) {
    if (!status.ok()) faults += (faults.empty() ? "" : "\n") + status.message();
  }
  return faults.empty() ? OkStatus() : Status(Code::kInvalidArgument, faults);
}

int RunDriver(DriverConfig config, const EndProcess& end) {
  config = Completed(std::move(config));
  Driver driver(SdkOptions(config));
  if (!config.health_only_for.empty()) {
    sdk::DriverInside::BecomeHealthSource(driver, config.health_sources);
  }
  const std::optional<sdk::DriverInside> inside = sdk::DriverInside::Of(driver);
  if (!inside) return kExitFailed;
  Program program(driver, *inside, std::move(config), end);
  if (const Status status = program.Prepare(); !status.ok()) {
    // NotFound means a file that the configuration names.
    const bool usage = status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound;
    return Fail(status, usage ? kExitUsage : kExitFailed);
  }
  const Status started = program.Start();
  const int code = started.ok() ? driver.Run() : Fail(started, kExitFailed);
  program.Finish(code);
  return code;
}

}  // namespace galen::device_driver
