// Tested by device_driver_test.cc.
#include <fmt/format.h>

#include <utility>

#include "base/data/fnv1a.h"
#include "driver/hardware.h"
#include "probes/rules/sign_value.h"

namespace galen::device_driver {
GpuHardware::GpuHardware(Edges edges, Options options,
                         std::unique_ptr<probes::KernelLogSource> kernel_log)
    : edges_(edges),
      shared_(options.shared),
      simulator_(edges.loop, Random(Fnv1a(options.seed)), edges.rules, options.count),
      kernel_log_source_(std::move(kernel_log)) {}

StatusOr<Inventory> GpuHardware::Devices() {
  Inventory inventory;
  for (const probes::SimulatedGpu& gpu : simulator_.devices()) {
    Device device;
    device.name = gpu.name;
    // pciBusID is the attribute by which Kubernetes lets claims match devices of one PCI root.
    device.attributes = {{"model", gpu.model},
                         {"serial", gpu.serial},
                         {"uuid", gpu.uuid},
                         {"simulated", true},
                         {"resource.kubernetes.io/pciBusID", gpu.pci_address}};
    // As much as an H200 has.
    device.capacity = {{"memory", "141Gi"}};
    device.allow_multiple_allocations = shared_;
    inventory.push_back(std::move(device));
  }
  return inventory;
}

// Simulated GPUs have no device nodes; the variable says to a container which one it holds.
DeviceEdits GpuHardware::EditsFor(const std::string& device) const {
  CdiEdits edits;
  for (std::size_t i = 0; i < simulator_.devices().size(); ++i) {
    const probes::SimulatedGpu& gpu = simulator_.devices()[i];
    if (gpu.name == device) edits.env.push_back(fmt::format("GPU_{}={}", i, gpu.uuid));
  }
  return edits;
}

std::vector<GpuHardware::Sign> GpuHardware::InjectableSigns() const {
  std::vector<Sign> signs;
  for (const probes::SignSpec& sign : edges_.rules.signs) {
    const std::string possible = probes::PossibleValues(sign);
    signs.push_back(
        {.name = sign.name,
         .unit = sign.unit,
         .help = possible.empty() ? sign.help : fmt::format("{} ({})", sign.help, possible),
         .usual = sign.usual});
  }
  signs.push_back({.name = std::string(probes::GpuSimulator::kUnreadable),
                   .help = "the name of a sign that can no longer be read"});
  return signs;
}

std::vector<std::string> GpuHardware::Names() const {
  std::vector<std::string> names;
  for (const probes::SimulatedGpu& gpu : simulator_.devices()) names.push_back(gpu.name);
  return names;
}

StatusOr<WallTime> GpuHardware::Inject(std::string_view device, std::string_view sign,
                                       std::string_view value) {
  ASSIGN_OR_RETURN(std::vector<probes::Sign> signs, simulator_.Inject(device, sign, value));
  const WallTime time = signs.back().time;
  edges_.log.Info("simulator shows a sign", {{"device", device}, {"sign", sign}, {"value", value}});
  events_->signs.OnSigns(std::move(signs));
  return time;
}

Status GpuHardware::Start(HardwareEvents& events) {
  events_ = &events;
  if (kernel_log_source_ == nullptr) return OkStatus();
  // The kernel log names a card by its bus address, Galen by its name.
  std::map<std::string, std::string> device_of_address;
  for (const probes::SimulatedGpu& gpu : simulator_.devices()) {
    device_of_address[gpu.pci_address] = gpu.name;
  }
  kernel_log_ = std::make_unique<probes::KernelLog>(
      probes::KernelLog::Parts{edges_.loop, edges_.log, edges_.metrics, edges_.state,
                               *kernel_log_source_, events.signs, edges_.rules},
      device_of_address);
  // Earlier log lines are not about these simulated GPUs.
  kernel_log_->Start(probes::KernelLog::Begin::kNow);
  return OkStatus();
}

}  // namespace galen::device_driver
