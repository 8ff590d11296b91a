// Tested by device_driver_test.cc and nvidia_test.cc.
#include <fmt/format.h>

#include <utility>

#include "driver/hardware.h"

namespace galen::device_driver {
namespace {

// Named by their device nodes, whose numbers stay when another GPU is lost; by NVML's order where
// it does not say them.
std::map<std::string, probes::NvmlGpu> WholeGpus(const NvidiaHardware::Options& options, Log& log) {
  const std::vector<probes::NvmlGpu>& gpus = options.gpus;
  std::map<std::string, probes::NvmlGpu> whole;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].error.empty()) {
      log.Warning("GPU cannot be described and is no device until the driver starts again",
                  {{"index", i}, {"error", gpus[i].error}});
    } else if (gpus[i].is_partitioned && !options.with_partitioned) {
      log.Warning("GPU is cut into MIG instances and no device of this driver",
                  {{"index", i}, {"uuid", gpus[i].uuid}});
    } else {
      const int number = gpus[i].minor.value_or(static_cast<int>(i));
      whole[fmt::format("gpu-{}", number)] = gpus[i];
    }
  }
  return whole;
}

}  // namespace

NvidiaHardware::NvidiaHardware(Edges edges, Options options, probes::Nvml& nvml,
                               std::function<std::unique_ptr<DiskQueue>()> make_queue,
                               std::unique_ptr<probes::KernelLogSource> kernel_log)
    : edges_(edges),
      options_(std::move(options)),
      gpus_(WholeGpus(options_, edges.log)),
      probe_({edges.loop, edges.log, nvml, std::move(make_queue)}, gpus_),
      kernel_log_source_(std::move(kernel_log)) {}

StatusOr<Inventory> NvidiaHardware::Devices() {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  Inventory inventory;
  for (const auto& [name, gpu] : gpus_) {
    Device device;
    device.name = name;
    device.attributes = {{"uuid", gpu.uuid}, {"resource.kubernetes.io/pciBusID", gpu.pci_address}};
    const auto add = [&device](const std::string& attribute, const std::string& value) {
      if (!value.empty()) device.attributes[attribute] = value;
    };
    add("model", gpu.model);
    add("serial", gpu.serial);
    add("driverVersion", options_.driver_version);
    if (const auto node = options_.numa_nodes.find(gpu.pci_address);
        node != options_.numa_nodes.end()) {
      device.attributes["numaNode"] = node->second;
    }
    if (gpu.memory) device.capacity["memory"] = fmt::format("{}Mi", *gpu.memory / kMebibyte);
    inventory.push_back(std::move(device));
  }
  return inventory;
}

CdiEdits NvidiaHardware::EditsFor(const std::string& device) const {
  CdiEdits edits;
  const auto gpu = gpus_.find(device);
  if (gpu == gpus_.end()) return edits;
  // NVIDIA's own container runtime, where it is the default, must not add all GPUs.
  edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  const NvidiaFiles files = options_.find_files();
  const auto add = [&](const std::string& node) {
    edits.device_nodes.push_back(
        {.path = "/dev/" + node, .host_path = files.device_directory + "/" + node});
  };
  if (gpu->second.minor) add(fmt::format("nvidia{}", *gpu->second.minor));
  for (const std::string& node : files.control_nodes) add(node);
  edits.mounts = files.libraries;
  return edits;
}

Status NvidiaHardware::CanPrepare() const {
  return CheckVersions(options_.module_version(), options_.find_files());
}

Status NvidiaHardware::Start(HardwareEvents& events) {
  merger_ = std::make_unique<probes::XidMerger>(edges_.loop, events.signs);
  probe_.Start(merger_->nvml(), merger_->nvml());
  if (kernel_log_source_ == nullptr) return OkStatus();
  std::map<std::string, std::string> device_of_address;
  for (const auto& [name, gpu] : gpus_) device_of_address[gpu.pci_address] = name;
  kernel_log_ = std::make_unique<probes::KernelLog>(
      probes::KernelLog::Parts{edges_.loop, edges_.log, edges_.metrics, edges_.state,
                               *kernel_log_source_, merger_->kernel_log(), edges_.rules},
      device_of_address);
  // What NVML does not show of the time before this driver may have been repaired since.
  kernel_log_->Start(probes::KernelLog::Begin::kNow);
  return OkStatus();
}

}  // namespace galen::device_driver
