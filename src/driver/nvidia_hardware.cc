#include <fmt/format.h>

#include <utility>

#include "driver/hardware.h"

namespace galen::device_driver {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// Named by their device nodes, whose numbers stay when another GPU is lost; by NVML's order where
// it does not give a number.
std::map<std::string, probes::NvmlGpu> NamedGpus(const NvidiaHardware::Options& options, Log& log) {
  const std::vector<probes::NvmlGpu>& gpus = options.gpus;
  std::map<std::string, probes::NvmlGpu> named;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].error.empty()) {
      log.Warning("nothing is known of a GPU: it is not offered until the driver is restarted",
                  {{"index", i}, {"error", gpus[i].error}});
      continue;
    }
    if (gpus[i].is_partitioned) {
      log.Info("GPU is cut into MIG instances, which are devices in its place",
               {{"index", i}, {"uuid", gpus[i].uuid}, {"instances", gpus[i].partitions.size()}});
    }
    const int number = gpus[i].minor.value_or(static_cast<int>(i));
    named[fmt::format("gpu-{}", number)] = gpus[i];
  }
  return named;
}

std::string NameOf(const std::string& gpu, const probes::NvmlPartition& partition) {
  return fmt::format("{}-mig-{}-{}", gpu, partition.gpu_instance, partition.compute_instance);
}

void AddKnown(Device& device, const std::string& attribute, const std::string& value) {
  if (!value.empty()) device.attributes[attribute] = value;
}

void AddMemory(Device& device, const std::optional<std::uint64_t>& bytes) {
  if (bytes) device.capacity["memory"] = fmt::format("{}Mi", *bytes / kMebibyte);
}

}  // namespace

NvidiaHardware::NvidiaHardware(Edges edges, Options options, probes::Nvml& nvml,
                               std::function<std::unique_ptr<DiskQueue>()> make_queue,
                               std::unique_ptr<probes::KernelLogSource> kernel_log)
    : edges_(edges),
      options_(std::move(options)),
      gpus_(NamedGpus(options_, edges.log)),
      probe_({edges.loop, edges.log, nvml, std::move(make_queue)}, gpus_),
      kernel_log_source_(std::move(kernel_log)) {}

StatusOr<Inventory> NvidiaHardware::Devices() {
  Inventory inventory;
  cuts_.clear();
  shown_uuids_.clear();
  for (const auto& [name, gpu] : gpus_) {
    const probes::NvmlGpu& now = probe_.GpuOf(name);
    if (!now.is_partitioned || options_.with_partitioned) inventory.push_back(DeviceOf(name, gpu));
    if (!now.is_partitioned) continue;
    probes::MigSpread::Cut& cut = cuts_[name];
    cut.whole = options_.with_partitioned;
    for (const probes::NvmlPartition& partition : now.partitions) {
      Device device = DeviceOf(name, gpu, partition);
      cut.instances.push_back({device.name, partition.gpu_instance, partition.compute_instance});
      shown_uuids_[device.name] = partition.uuid;
      inventory.push_back(std::move(device));
    }
  }
  if (spread_) spread_->SetCuts(cuts_);
  return inventory;
}

Device NvidiaHardware::DeviceOf(const std::string& name, const probes::NvmlGpu& gpu) const {
  Device device;
  device.name = name;
  device.attributes = {{"uuid", gpu.uuid}, {"resource.kubernetes.io/pciBusID", gpu.pci_address}};
  AddKnown(device, "model", gpu.model);
  AddKnown(device, "serial", gpu.serial);
  AddKnown(device, "driverVersion", options_.driver_version);
  if (const auto node = options_.numa_nodes.find(gpu.pci_address);
      node != options_.numa_nodes.end()) {
    device.attributes["numaNode"] = node->second;
  }
  AddMemory(device, gpu.memory);
  return device;
}

Device NvidiaHardware::DeviceOf(const std::string& name, const probes::NvmlGpu& gpu,
                                const probes::NvmlPartition& partition) const {
  Device device = DeviceOf(name, gpu);
  device.name = NameOf(name, partition);
  device.capacity.clear();
  device.attributes["uuid"] = partition.uuid;
  device.attributes["parentUUID"] = gpu.uuid;
  device.attributes["gpuInstance"] = static_cast<std::int64_t>(partition.gpu_instance);
  device.attributes["computeInstance"] = static_cast<std::int64_t>(partition.compute_instance);
  AddKnown(device, "profile", partition.profile);
  AddMemory(device, partition.memory);
  if (partition.multiprocessors) {
    device.capacity["multiprocessors"] = fmt::format("{}", *partition.multiprocessors);
  }
  // Where devices are matched by UUID and PCI address, a MIG instance has its GPU's.
  if (options_.with_partitioned) {
    device.attributes.erase("resource.kubernetes.io/pciBusID");
    device.attributes.erase("serial");
  }
  return device;
}

NvidiaHardware::Found NvidiaHardware::Find(const std::string& device) const {
  for (const auto& [name, gpu] : gpus_) {
    if (device == name) return {.gpu = &gpu};
    if (!device.starts_with(name + "-mig-")) continue;
    for (const probes::NvmlPartition& partition : probe_.GpuOf(name).partitions) {
      if (device == NameOf(name, partition)) return {&gpu, &partition};
    }
  }
  return {};
}

DeviceEdits NvidiaHardware::EditsFor(const std::string& device) const {
  CdiEdits edits;
  const Found found = Find(device);
  if (found.gpu == nullptr) return edits;
  // NVIDIA's own container runtime, where it is the default, must not add all GPUs.
  edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  const NvidiaFiles files = options_.find_files();
  const auto add = [&](const std::string& node) {
    edits.device_nodes.push_back(
        {.path = "/dev/" + node, .host_path = files.device_directory + "/" + node});
  };
  if (found.gpu->minor) add(fmt::format("nvidia{}", *found.gpu->minor));
  for (const std::string& node : files.control_nodes) add(node);
  if (found.partition != nullptr && found.gpu->minor) {
    // Destroyed since CanPrepare looked: with the GPU's node alone it could not compute.
    const auto nodes = options_.find_mig_nodes(*found.gpu->minor, *found.partition);
    if (!nodes.ok()) return Failure{nodes.status().message()};
    for (const std::string& node : *nodes) add(node);
  }
  edits.mounts = files.libraries;
  return edits;
}

Status NvidiaHardware::CanPrepare(const std::string& device) const {
  RETURN_IF_ERROR(CheckVersions(options_.module_version(), options_.find_files()));
  const Found found = Find(device);
  if (found.gpu == nullptr) {
    // Only MIG instances can be replaced under their names; any other device stays the same.
    if (device.find("-mig-") == std::string::npos) return OkStatus();
    return FailedPrecondition("{} is no MIG instance any more: it was destroyed", device);
  }
  if (found.partition == nullptr) return CanPrepareWhole(device);
  // Made anew since the slice was published: whoever reads the slice is promised another one. A
  // claim that was allocated by an earlier slice is not recognized: Kubernetes allocates by name,
  // and gives no UUID with it.
  if (const auto shown = shown_uuids_.find(device);
      shown != shown_uuids_.end() && shown->second != found.partition->uuid) {
    return FailedPrecondition("{} was destroyed and made anew: it was {} and is {}", device,
                              shown->second, found.partition->uuid);
  }
  if (!found.gpu->minor) {
    return FailedPrecondition("{} is a MIG instance of a GPU whose device node NVML does not name",
                              device);
  }
  return options_.find_mig_nodes(*found.gpu->minor, *found.partition).status();
}

Status NvidiaHardware::CanPrepareWhole(const std::string& device) const {
  const probes::NvmlGpu& now = probe_.GpuOf(device);
  if (now.is_mode_unknown) {
    return FailedPrecondition("NVML has not said yet whether {} is cut into MIG instances", device);
  }
  if (!now.is_partitioned) return OkStatus();
  return FailedPrecondition("{} is cut into MIG instances, which are devices in its place", device);
}

StatusOr<std::vector<probes::Sign>> NvidiaHardware::Observe() {
  ASSIGN_OR_RETURN(std::vector<probes::Sign> hung, probe_.Observe());
  return spread_ ? spread_->Spread(std::move(hung)) : hung;
}

Status NvidiaHardware::Start(HardwareEvents& events) {
  spread_ = std::make_unique<probes::MigSpread>(events.signs);
  spread_->SetCuts(cuts_);
  merger_ = std::make_unique<probes::XidMerger>(edges_.loop, *spread_);
  probe_.Start(merger_->nvml(), merger_->nvml(), events.look_again);
  if (kernel_log_source_ == nullptr) return OkStatus();
  std::map<std::string, std::string> device_of_address;
  for (const auto& [name, gpu] : gpus_) device_of_address[gpu.pci_address] = name;
  kernel_log_ = std::make_unique<probes::KernelLog>(
      probes::KernelLog::Parts{edges_.loop, edges_.log, edges_.metrics, edges_.state,
                               *kernel_log_source_, merger_->kernel_log(), edges_.rules},
      device_of_address);
  // NVML does not show whether older faults have been repaired since.
  kernel_log_->Start(probes::KernelLog::Begin::kNow);
  return OkStatus();
}

}  // namespace galen::device_driver
