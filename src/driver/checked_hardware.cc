#include "driver/checked_hardware.h"

#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace galen::device_driver {

namespace {

std::string NameOf(probes::CommandReport::State state) {
  using State = probes::CommandReport::State;
  switch (state) {
    case State::kWaiting:
      return "waiting";
    case State::kRunning:
      return "running";
    case State::kHanging:
      return "hanging";
    case State::kOff:
      return "off";
  }
  GALEN_UNREACHABLE();
}

// A simulator shows such a sign itself, which counts unless a check reported one.
void AddResults(std::vector<probes::Sign> results, std::vector<probes::Sign>& shown) {
  std::set<std::string> own;
  for (const probes::Sign& sign : shown) {
    if (sign.name == probes::kActiveCheckSign) own.insert(sign.device);
  }
  std::set<std::string> said;
  for (const probes::Sign& result : results) {
    if (!result.detail.empty()) said.insert(result.device);
  }
  std::erase_if(shown, [&said](const probes::Sign& sign) {
    return sign.name == probes::kActiveCheckSign && said.contains(sign.device);
  });
  for (probes::Sign& result : results) {
    const bool stays = said.contains(result.device) || !own.contains(result.device);
    if (stays) shown.push_back(std::move(result));
  }
}

}  // namespace

probes::CheckedDevice CheckedDeviceOf(const Device& device) {
  probes::CheckedDevice checked{.name = device.name, .known = {{"device", device.name}}};
  for (const std::string_view placeholder : probes::kPlaceholders) {
    const auto attribute = device.attributes.find(
        placeholder == "pci" ? "resource.kubernetes.io/pciBusID" : std::string(placeholder));
    if (placeholder == "device" || attribute == device.attributes.end()) continue;
    if (const auto* text = std::get_if<std::string>(&attribute->second)) {
      checked.known[std::string(placeholder)] = *text;
    }
  }
  return checked;
}

CheckedHardware::CheckedHardware(Edges edges, std::unique_ptr<Hardware> hardware, Parts parts)
    : hardware_(std::move(hardware)),
      runner_(std::move(parts.runner)),
      commands_({.loop = edges.loop,
                 .log = edges.log,
                 .metrics = edges.metrics,
                 .rules = edges.rules,
                 .runner = *runner_}),
      exporters_({.loop = edges.loop,
                  .log = edges.log,
                  .metrics = edges.metrics,
                  .rules = edges.rules,
                  .make_queue = std::move(parts.make_queue),
                  .fetch = std::move(parts.fetch)}),
      results_(std::move(parts.results)) {}

StatusOr<Inventory> CheckedHardware::Devices() {
  ASSIGN_OR_RETURN(Inventory devices, hardware_->Devices());
  if (devices == devices_) return devices;
  std::vector<probes::CheckedDevice> checked;
  for (const Device& device : devices) checked.push_back(CheckedDeviceOf(device));
  commands_.SetDevices(checked);
  exporters_.SetDevices(checked);
  if (results_) results_->SetDevices(checked);
  devices_ = devices;
  return devices;
}

Status CheckedHardware::Start(HardwareEvents& events) {
  commands_.Start(events.signs);
  exporters_.Start(events.signs);
  if (results_) results_->Start(events.look_again);
  return hardware_->Start(events);
}

StatusOr<std::vector<probes::Sign>> CheckedHardware::Observe() {
  const StatusOr<std::vector<probes::Sign>> of_commands = commands_.Observe();
  const StatusOr<std::vector<probes::Sign>> of_exporters = exporters_.Observe();
  StatusOr<std::vector<probes::Sign>> shown = hardware_->Observe();
  if (!shown.ok()) return shown;
  for (const auto* said : {&of_commands, &of_exporters}) {
    shown->insert(shown->end(), (*said)->begin(), (*said)->end());
  }
  if (results_) AddResults(*results_->Observe(), *shown);
  return shown;
}

std::vector<sdk::CheckReport> CheckedHardware::Checks() const {
  std::vector<sdk::CheckReport> checks;
  for (probes::CommandReport& report : commands_.Reports()) {
    checks.push_back({.name = std::move(report.check),
                      .device = std::move(report.device),
                      .state = NameOf(report.state),
                      .result = std::move(report.result),
                      .says = std::move(report.says),
                      .every = report.every,
                      .interval = report.interval,
                      .last_run = report.last_run,
                      .took = report.took,
                      .cpu = report.cpu,
                      .runs = report.runs,
                      .cpu_of_all = report.cpu_of_all});
  }
  return checks;
}

}  // namespace galen::device_driver
