// Tested by check_command_test.cc, and as a program by tests/e2e/device_check_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "active/cpu_device.h"
#include "active/cuda_device.h"
#include "active/cuda_driver.h"
#include "active/link_check.h"
#include "active/thermal_zones.h"
#include "base/files/posix_file_system.h"
#include "base/text.h"
#include "cli/check/check.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/nvml/nvml_library.h"

namespace galen::cli {
namespace {

constexpr std::string_view kCpu = "cpu";
// An unused GPU's memory is free for the check. A machine's memory is shared with all programs.
constexpr double kGpuMemoryShare = 0.8, kCpuMemoryShare = 0.05;
// The default for a machine's memory: a round over this much takes seconds.
constexpr std::uint64_t kCpuMemoryMax = std::uint64_t{256} << 20;
// A larger transfer would show no more about a link.
constexpr std::uint64_t kLinkBytesMax = std::uint64_t{64} << 20;

bool IsAddress(const std::string& name) {
  return name.size() == 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
}

// The devices of one check, while it runs.
class CheckBench {
 public:
  CheckBench(const CheckWork& work, active::CheckWatch& watch) : work_(work), watch_(watch) {}

  Status Open() {
    const bool all_cpu =
        std::ranges::all_of(work_.devices, [](const auto& n) { return n == kCpu; });
    const bool any_cpu =
        std::ranges::any_of(work_.devices, [](const auto& n) { return n == kCpu; });
    if (any_cpu != all_cpu) return InvalidArgument("cpu and GPUs have no link between them");
    return all_cpu ? OpenCpus() : OpenGpus();
  }

  CheckReport Run() {
    CheckReport report{.devices = devices_};
    active::DeviceCheckOptions options = work_.options;
    if (options.memory_share == 0) {
      options.memory_share = is_gpu_ ? kGpuMemoryShare : kCpuMemoryShare;
      options.memory_bytes_max = is_gpu_ ? 0 : kCpuMemoryMax;
    }
    if (ends_.size() > 1) {
      RunLinks(options, report);
    } else {
      report.outcome = active::RunDeviceCheck(*ends_[0].device, options, watch_);
      CheckResult& result = report.devices[0];
      result.verdict = report.outcome.verdict;
    }
    for (CheckResult& result : report.devices) {
      result.seed = options.seed;
      result.rounds = report.outcome.rounds;
      result.bytes = report.outcome.bytes;
      if (result.verdict == CheckVerdict::kPassed) continue;
      result.code = report.outcome.code;
      result.message = report.outcome.message;
    }
    return report;
  }

  // Valid only while this bench exists.
  CheckThermometer Thermometer() {
    if (!is_gpu_) {
      return [root = work_.sysfs_root] {
        PosixFileSystem files;
        return active::HottestZone(files, root);
      };
    }
    auto nvml = probes::NvmlLibrary::Open(work_.nvml, [] { return probes::NvmlModule(); });
    if (!nvml.ok()) return {};
    nvml_ = std::move(*nvml);
    const auto gpus = nvml_->Gpus();
    if (!gpus.ok()) return {};
    std::vector<probes::NvmlGpu> ours;
    for (const probes::NvmlGpu& gpu : *gpus) {
      const bool is_ours = std::ranges::any_of(devices_, [&gpu](const CheckResult& device) {
        return device.pci_address == gpu.pci_address;
      });
      if (is_ours) ours.push_back(gpu);
    }
    return [this, ours] {
      std::optional<double> hottest;
      for (const probes::NvmlGpu& gpu : ours) {
        for (const probes::Sign& sign : nvml_->Read(gpu, probes::NvmlDepth::kPoll)) {
          if (sign.name != "temperature" || !sign.error.empty()) continue;
          const std::optional<double> now = probes::NumberOf(sign);
          if (now) hottest = std::max(hottest.value_or(*now), *now);
        }
      }
      return hottest;
    };
  }

 private:
  Status OpenCpus() {
    for (std::size_t i = 0; i < work_.devices.size(); ++i) {
      cpus_.push_back(std::make_unique<active::CpuDevice>(files_, active::CpuDevice::Places{}));
      const std::string number = work_.devices.size() > 1 ? fmt::format("-{}", i) : "";
      Add(*cpus_.back(), {.device = std::string(kCpu) + number, .model = cpus_.back()->Model()});
    }
    return OkStatus();
  }

  Status OpenGpus() {
    is_gpu_ = true;
    ASSIGN_OR_RETURN(cuda_, active::CudaDriver::Open(work_.cuda, watch_));
    ASSIGN_OR_RETURN(const auto gpus, cuda_->Gpus());
    const probes::NvmlModule module =
        probes::ReadNvmlModule(files_, work_.sysfs_root, work_.proc_root);
    std::set<int> taken;
    for (const std::string& name : work_.devices) {
      ASSIGN_OR_RETURN(const active::CudaGpu gpu, Find(name, gpus, module));
      if (!taken.insert(gpu.ordinal).second) return InvalidArgument("{} is named twice", name);
      ASSIGN_OR_RETURN(auto device, active::CudaDevice::Open(*cuda_, gpu));
      gpus_.push_back(std::move(device));
      Add(*gpus_.back(), {.device = DriversName(gpu, module),
                          .pci_address = gpu.pci_address,
                          .uuid = gpu.uuid,
                          .model = gpu.model});
      // Only the given name, if the module does not know the GPU's number.
      if (devices_.back().device.empty()) devices_.back().device = name;
    }
    return OkStatus();
  }

  StatusOr<active::CudaGpu> Find(const std::string& name, const std::vector<active::CudaGpu>& gpus,
                                 const probes::NvmlModule& module) const {
    std::string address = IsAddress(name) ? name : "";
    if (name.starts_with("gpu-")) {
      for (const probes::NvmlGpu& gpu : module.gpus) {
        if (gpu.minor && fmt::format("gpu-{}", *gpu.minor) == name) address = gpu.pci_address;
      }
      if (address.empty()) {
        return NotFound(
            "{}: NVIDIA's kernel module shows no GPU of this number below {}/driver/nvidia/gpus; "
            "give its UUID or PCI address instead",
            name, work_.proc_root);
      }
    }
    for (const active::CudaGpu& gpu : gpus) {
      if (gpu.uuid == name || gpu.pci_address == address) return gpu;
    }
    std::string known;
    for (const active::CudaGpu& gpu : gpus)
      known += fmt::format(" {} ({})", gpu.pci_address, gpu.uuid);
    return NotFound("{}: CUDA has no such GPU; it has{}", name, known.empty() ? " none" : known);
  }

  // galen-driver's name, from the number of the GPU's device node.
  static std::string DriversName(const active::CudaGpu& gpu, const probes::NvmlModule& module) {
    for (const probes::NvmlGpu& known : module.gpus) {
      if (known.pci_address == gpu.pci_address && known.minor) {
        return fmt::format("gpu-{}", *known.minor);
      }
    }
    return "";
  }

  void Add(active::ComputeDevice& device, CheckResult known) {
    ends_.push_back({.name = known.device, .device = &device});
    devices_.push_back(std::move(known));
  }

  void RunLinks(const active::DeviceCheckOptions& options, CheckReport& report) {
    StatusOr<std::uint64_t> bytes = LinkBytes(options.memory_share);
    active::LinkOutcome link;
    if (bytes.ok()) {
      link = active::RunLinkCheck(ends_, *bytes, options, watch_);
    } else {
      link.outcome = active::OutcomeOfError(bytes.status(), 0, "none");
    }
    report.outcome = link.outcome;
    const bool passed = link.outcome.verdict == CheckVerdict::kPassed;
    for (CheckResult& result : report.devices) {
      result.subject = CheckSubject::kLinks;
      result.verdict = passed ? CheckVerdict::kPassed : CheckVerdict::kUnknown;
    }
    // The state of ends that the fault does not name is unknown.
    for (const std::size_t end : link.bad) report.devices[end].verdict = CheckVerdict::kFailed;
  }

  // Each end has a send and a receive buffer.
  StatusOr<std::uint64_t> LinkBytes(double share) {
    std::uint64_t bytes = kLinkBytesMax;
    for (const active::LinkEnd& end : ends_) {
      ASSIGN_OR_RETURN(const std::uint64_t free, end.device->FreeBytes());
      const double part = static_cast<double>(free) * share / 2;
      bytes = std::min(bytes, static_cast<std::uint64_t>(part));
    }
    bytes = bytes / 4096 * 4096;
    if (bytes == 0) return ResourceExhausted("less than a page of memory may be tested");
    return bytes;
  }

  const CheckWork& work_;
  active::CheckWatch& watch_;
  PosixFileSystem files_;
  bool is_gpu_ = false;
  std::unique_ptr<probes::NvmlLibrary> nvml_;
  std::unique_ptr<active::CudaDriver> cuda_;
  std::vector<std::unique_ptr<active::CudaDevice>> gpus_;
  std::vector<std::unique_ptr<active::CpuDevice>> cpus_;
  std::vector<active::LinkEnd> ends_;
  std::vector<CheckResult> devices_;
};

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

StatusOr<std::string> CanonicalDevice(const std::string& name) {
  constexpr std::string_view kNumbered = "gpu-", kUuid = "GPU-";
  if (name == kCpu || (name.starts_with(kUuid) && name.size() > kUuid.size())) return name;
  if (name.starts_with(kNumbered) && IsNumber(std::string_view(name).substr(kNumbered.size()))) {
    return name;
  }
  // In the kernel's form, with the function, whatever form was given.
  const std::string slot = probes::PciSlot(name);
  if (IsAddress(name) && !slot.empty()) return slot + name.substr(slot.size());
  return InvalidArgument(
      "'{}' is no device: cpu, gpu-0 (by the number of /dev/nvidia0), a GPU's UUID (GPU-…) or its "
      "PCI address (0000:4b:00.0)",
      Shown(name, 80));
}

GpuNames NamesOfGpu(const std::string& name, const std::string& sysfs_root,
                    const std::string& proc_root) {
  GpuNames names;
  if (name.starts_with("gpu-")) names.of_driver = name;
  if (name.starts_with("GPU-")) names.uuid = name;
  PosixFileSystem files;
  for (const probes::NvmlGpu& gpu : probes::ReadNvmlModule(files, sysfs_root, proc_root).gpus) {
    const std::string of_driver = gpu.minor ? fmt::format("gpu-{}", *gpu.minor) : "";
    if (gpu.uuid != name && gpu.pci_address != name && of_driver != name) continue;
    names.known = true;
    if (!of_driver.empty()) names.of_driver = of_driver;
    names.uuid = gpu.uuid;
  }
  return names;
}

CheckReport RunCheckWork(const CheckWork& work, active::CheckWatch& watch,
                         const std::function<void(CheckThermometer)>& set_thermometer) {
  CheckBench bench(work, watch);
  if (const Status opened = bench.Open(); !opened.ok()) {
    const bool refused =
        opened.code() == Code::kInvalidArgument || opened.code() == Code::kNotFound;
    CheckReport report{.outcome = active::OutcomeOfError(opened, 0, "none"), .refused = refused};
    // A CUDA driver that does not start is no evidence of a broken device.
    report.outcome.verdict = CheckVerdict::kUnknown;
    for (const std::string& name : work.devices) report.devices.push_back({.device = name});
    return report;
  }
  {
    const active::CheckWatch::Call call(watch, "loading NVML");
    set_thermometer(bench.Thermometer());
  }
  CheckReport report = bench.Run();
  set_thermometer({});
  return report;
}

}  // namespace galen::cli
