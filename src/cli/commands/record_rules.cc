// Tested by rules_test.cc.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/files/disk_thread.h"
#include "base/files/posix_file_system.h"
#include "base/log.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "cli/output/output.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/nvml/nvml_library.h"
#include "probes/nvml/nvml_probe.h"
#include "probes/recording/rules_recorder.h"
#include "probes/recording/shown_signs.h"
#include "probes/sysfs/device_look.h"

namespace galen::cli {
namespace {

using probes::RecordedDevice;

// Records NVML's readings of NVIDIA's GPUs.
class NvmlRecorder final : public probes::SignSink {
 public:
  static StatusOr<std::unique_ptr<NvmlRecorder>> Start(IoLoop& loop, const std::string& library) {
    std::unique_ptr<NvmlRecorder> recorder(new NvmlRecorder());
    ASSIGN_OR_RETURN(recorder->nvml_, probes::NvmlLibrary::Open(library, [] {
                       PosixFileSystem files;
                       return probes::ReadNvmlModule(files, "/sys", "/proc");
                     }));
    ASSIGN_OR_RETURN(const std::vector<probes::NvmlGpu> gpus, recorder->nvml_->Gpus());
    RETURN_IF_ERROR(recorder->StartThreads(loop, gpus.size() + 1));
    std::map<std::string, probes::NvmlGpu> by_name;
    for (const probes::NvmlGpu& gpu : gpus) {
      if (gpu.error.empty()) by_name[fmt::format("gpu-{}", by_name.size())] = gpu;
    }
    recorder->Name(by_name);
    recorder->probe_ = std::make_unique<probes::NvmlProbe>(
        probes::NvmlProbe::Parts{loop, NullLog(), *recorder->nvml_,
                                 [&threads = recorder->threads_] {
                                   std::unique_ptr<DiskQueue> thread = std::move(threads.back());
                                   threads.pop_back();
                                   return thread;
                                 }},
        by_name);
    recorder->probe_->Start(*recorder, *recorder);
    return recorder;
  }

  void OnSigns(std::vector<probes::Sign> signs) override {
    for (probes::Sign& sign : signs) signs_.push_back(std::move(sign));
  }
  // The readings since the last call; begins another read of each GPU.
  StatusOr<std::vector<probes::Sign>> Take() {
    ASSIGN_OR_RETURN(std::vector<probes::Sign> troubles, probe_->Observe());
    OnSigns(std::move(troubles));
    return std::exchange(signs_, {});
  }
  const std::vector<RecordedDevice>& devices() const { return devices_; }
  const std::vector<std::string>& secrets() const { return secrets_; }

 private:
  NvmlRecorder() = default;
  Status StartThreads(IoLoop& loop, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(auto thread, DiskThread::Start(loop, "nvml"));
      threads_.push_back(std::move(thread));
    }
    return OkStatus();
  }
  void Name(const std::map<std::string, probes::NvmlGpu>& gpus) {
    for (const auto& [name, gpu] : gpus) {
      devices_.push_back({.name = name, .model = gpu.model, .kernel_names = {gpu.pci_address}});
      secrets_.push_back(gpu.uuid);
      secrets_.push_back(gpu.serial);
    }
  }

  std::unique_ptr<probes::NvmlLibrary> nvml_;
  std::vector<std::unique_ptr<DiskQueue>> threads_;
  std::vector<RecordedDevice> devices_;
  std::vector<std::string> secrets_;
  std::vector<probes::Sign> signs_;
  // last: its threads use the other members until they end
  std::unique_ptr<probes::NvmlProbe> probe_;
};

Status Validate(const RecordArguments& arguments) {
  if (arguments.directory.empty()) return InvalidArgument("--out is missing: a new directory");
  if (arguments.patterns.empty() && arguments.nvml.empty()) {
    return InvalidArgument(
        "--pattern is missing: which directories below /sys are devices, e.g. "
        "'class/nvme/nvme*'; or --nvml");
  }
  if (arguments.every < std::chrono::milliseconds(100)) {
    return InvalidArgument("--every is less than 100ms");
  }
  if (arguments.length > std::chrono::hours(24)) return InvalidArgument("--for is past 24h");
  return OkStatus();
}

// Reads what to record, again and again, and writes it.
class RecordingSession {
 public:
  RecordingSession(IoLoop& loop, const probes::RuleTable& table, const RecordArguments& arguments)
      : loop_(loop), table_(table), arguments_(arguments) {}

  Status Start() {
    std::vector<RecordedDevice> devices;
    std::vector<std::string> secrets;
    if (!arguments_.patterns.empty()) {
      ASSIGN_OR_RETURN(devices,
                       probes::FindRecorded(sysfs_, arguments_.sysfs_root, arguments_.patterns));
    }
    for (const RecordedDevice& device : devices) {
      for (std::string& secret :
           probes::SecretsOf(sysfs_, arguments_.sysfs_root + "/" + device.path)) {
        secrets.push_back(std::move(secret));
      }
    }
    if (!arguments_.nvml.empty()) {
      ASSIGN_OR_RETURN(nvml_, NvmlRecorder::Start(loop_, arguments_.nvml));
      for (const RecordedDevice& gpu : nvml_->devices()) devices.push_back(gpu);
      for (const std::string& secret : nvml_->secrets()) secrets.push_back(secret);
    }
    RETURN_IF_ERROR(OpenKernelLog());
    Random random(Random::Seed());
    if (!arguments_.hash_serials) secrets.clear();
    NoteUnshown(devices);
    recorder_ = std::make_unique<probes::RulesRecorder>(
        sysfs_, disk_, table_, std::move(devices),
        probes::RulesRecorder::Options{.directory = arguments_.directory,
                                       .sysfs_root = arguments_.sysfs_root,
                                       .secrets = std::move(secrets),
                                       .salt = random.Next()});
    began_ = loop_.Now();
    return recorder_->Begin();
  }

  // One look. Returns whether another one is due.
  StatusOr<bool> Look() {
    if (nvml_ != nullptr) {
      ASSIGN_OR_RETURN(std::vector<probes::Sign> signs, nvml_->Take());
      recorder_->NoteSigns(std::move(signs));
    }
    RETURN_IF_ERROR(
        ReadKernelLog([this](const std::string& record) { recorder_->NoteKernelRecord(record); }));
    const Duration at = std::chrono::floor<std::chrono::milliseconds>(loop_.Now() - began_);
    RETURN_IF_ERROR(recorder_->Look(at));
    return at < arguments_.length;
  }
  std::size_t steps() const { return recorder_->steps(); }

 private:
  // A warning before minutes are spent: files of the table that no device has.
  void NoteUnshown(const std::vector<RecordedDevice>& devices) const {
    probes::ShownSigns shown(table_);
    std::size_t looked_at = 0;
    for (const RecordedDevice& device : devices) {
      if (device.path.empty()) continue;
      ++looked_at;
      const probes::DeviceLook look = probes::LookAtDevice(
          sysfs_, arguments_.sysfs_root + "/" + device.path, probes::WithFiles(table_.signs),
          [](const std::string&, const std::string&) {});
      for (const probes::Sign& sign : probes::SignsOf(look, device.name)) shown.Take(sign);
    }
    if (looked_at == 0) return;
    for (const probes::UnshownSign& sign : shown.Unshown()) {
      if (sign.source != probes::UnshownSign::Source::kFile) continue;
      PrintError(probes::UnshownText(sign, "of --pattern"));
    }
  }
  // From its present end on: older lines do not belong to this recording.
  Status OpenKernelLog() {
    if (arguments_.kernel_log.empty()) return OkStatus();
    ASSIGN_OR_RETURN(kernel_log_, probes::DevKmsg::Open(loop_, arguments_.kernel_log));
    return ReadKernelLog([](const std::string&) {});
  }
  Status ReadKernelLog(const std::function<void(const std::string&)>& take) {
    while (kernel_log_ != nullptr) {
      const StatusOr<std::optional<std::string>> record = kernel_log_->Next();
      // Overwritten records are lost; the next call continues.
      if (record.status().code() == Code::kDataLoss) continue;
      if (!record.ok()) return record.status();
      if (!*record) break;
      take(**record);
    }
    return OkStatus();
  }

  IoLoop& loop_;
  const probes::RuleTable& table_;
  const RecordArguments& arguments_;
  const probes::RealSysfs sysfs_;
  PosixFileSystem disk_;
  std::unique_ptr<NvmlRecorder> nvml_;
  std::unique_ptr<probes::KernelLogSource> kernel_log_;
  std::unique_ptr<probes::RulesRecorder> recorder_;
  Time began_{};
};

}  // namespace

StatusOr<std::string> RecordRules(const std::string& file, const RecordArguments& arguments) {
  RETURN_IF_ERROR(Validate(arguments));
  ASSIGN_OR_RETURN(const probes::RuleTable table, LoadRulesTable(file));
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  Interrupt interrupt(*loop);
  ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(*loop, [&interrupt] {
                     interrupt.Raise(Cancelled("interrupted"));
                   }));
  RecordingSession session(*loop, table, arguments);
  RETURN_IF_ERROR(session.Start());
  Timer next;
  const std::function<void()> look = [&] {
    const StatusOr<bool> more = session.Look();
    if (!more.ok()) return interrupt.Raise(more.status());
    if (!*more) return interrupt.Raise(Cancelled("recorded"));
    next = loop->After(arguments.every, [&look] { look(); });
  };
  look();
  while (!interrupt.raised()) loop->Run();
  if (interrupt.why().code() != Code::kCancelled) return interrupt.why();
  return fmt::format("{}: {}; galen rules test {} --replay {}\n", arguments.directory,
                     Counted(session.steps(), "step"), file, arguments.directory);
}

}  // namespace galen::cli
