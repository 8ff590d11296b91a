#include "driver/gpu_hardware.h"

#include <fmt/format.h>

#include <utility>

#include "base/data/fnv1a.h"
#include "probes/rules/sign_value.h"
#include "protos/galen/simulator/v1/simulator.pb.h"
#include "rpc/typed.h"

namespace galen::device_driver {
namespace {

namespace wire = galen::simulator::v1;

// How the simulator's service tells of a sign that can be injected.
wire::Sign ToWire(std::string_view name, const std::string& unit, const std::string& help,
                  const std::string& usual) {
  wire::Sign sign;
  sign.set_name(std::string(name));
  sign.set_unit(unit);
  sign.set_help(help);
  sign.set_usual(usual);
  return sign;
}

wire::ListSignsResponse ListSigns(const probes::RuleTable& rules,
                                  const probes::GpuSimulator& simulator) {
  wire::ListSignsResponse response;
  for (const probes::SignSpec& sign : rules.signs) {
    const std::string possible = probes::PossibleValues(sign);
    *response.add_signs() = ToWire(
        sign.name, sign.unit,
        possible.empty() ? sign.help : fmt::format("{} ({})", sign.help, possible), sign.usual);
  }
  *response.add_signs() = ToWire(probes::GpuSimulator::kUnreadable, "",
                                 "a sign by name that cannot be read any more", "");
  for (const probes::SimulatedGpu& gpu : simulator.devices()) response.add_devices(gpu.name);
  return response;
}

}  // namespace

GpuHardware::GpuHardware(Parts parts, Options options,
                         std::unique_ptr<probes::KernelLogSource> kernel_log)
    : parts_(parts),
      shared_(options.shared),
      simulator_(parts.loop, Random(Fnv1a(options.seed)), parts.rules, options.count),
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
    // Of an H200.
    device.capacity = {{"memory", "141Gi"}};
    device.allow_multiple_allocations = shared_;
    inventory.push_back(std::move(device));
  }
  return inventory;
}

// Simulated GPUs have no device nodes; the variable tells a container which one it holds.
CdiEdits GpuHardware::EditsFor(const std::string& device) const {
  CdiEdits edits;
  for (std::size_t i = 0; i < simulator_.devices().size(); ++i) {
    const probes::SimulatedGpu& gpu = simulator_.devices()[i];
    if (gpu.name == device) edits.env.push_back(fmt::format("GPU_{}={}", i, gpu.uuid));
  }
  return edits;
}

void GpuHardware::Serve(rpc::Dispatcher& dispatcher) {
  rpc::AddUnary<wire::InjectRequest, wire::InjectResponse>(
      dispatcher, "/galen.simulator.v1.Simulator/Inject",
      [this](const wire::InjectRequest& request, const rpc::Caller&,
             const rpc::TypedReply<wire::InjectResponse>& reply) {
        auto signs = simulator_.Inject(request.device(), request.sign(), request.value());
        if (!signs.ok()) return reply(signs.status());
        wire::InjectResponse response;
        response.set_injected_unix_nanos(signs->back().time.time_since_epoch().count());
        parts_.log.Info(
            "simulator shows a sign",
            {{"device", request.device()}, {"sign", request.sign()}, {"value", request.value()}});
        // Served before Start(): what is injected then is seen at the first look.
        if (ears_ != nullptr) ears_->signs.OnSigns(*std::move(signs));
        reply(response);
      });
  rpc::AddUnary<wire::ListSignsRequest, wire::ListSignsResponse>(
      dispatcher, "/galen.simulator.v1.Simulator/ListSigns",
      [this](const wire::ListSignsRequest&, const rpc::Caller&,
             const rpc::TypedReply<wire::ListSignsResponse>& reply) {
        reply(ListSigns(parts_.rules, simulator_));
      });
}

Status GpuHardware::Start(HardwareEars& ears) {
  ears_ = &ears;
  if (kernel_log_source_ == nullptr) return OkStatus();
  // The kernel knows a card by its bus address, we know it by its name.
  std::map<std::string, std::string> device_of_address;
  for (const probes::SimulatedGpu& gpu : simulator_.devices()) {
    device_of_address[gpu.pci_address] = gpu.name;
  }
  kernel_log_ = std::make_unique<probes::KernelLog>(
      probes::KernelLog::Parts{parts_.loop, parts_.log, parts_.metrics, parts_.state,
                               *kernel_log_source_, ears.signs},
      device_of_address);
  // What the log said before these GPUs were thought of is not about them.
  kernel_log_->Start(probes::KernelLog::Begin::kNow);
  return OkStatus();
}

}  // namespace galen::device_driver
