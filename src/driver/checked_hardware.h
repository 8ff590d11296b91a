// Wraps any hardware, and adds the commands and exporters that a table of rules names for its
// devices, and the results of active checks (`galen check`).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/files/disk_queue.h"
#include "driver/edges.h"
#include "driver/hardware.h"
#include "probes/active_check/check_results.h"
#include "probes/command/command_probe.h"
#include "probes/command/command_runner.h"
#include "probes/exporter/exporter_probe.h"
#include "probes/placeholders.h"
#include "sdk/app/checks_service.h"

namespace galen::device_driver {

// The values of placeholders for this device: its name and those of its attributes that
// kPlaceholders asks for ("pci" is resource.kubernetes.io/pciBusID).
probes::CheckedDevice CheckedDeviceOf(const Device& device);

// Shows the hardware's own signs together with those of commands and exporters. Belongs to its
// loop.
class CheckedHardware final : public Hardware, public sdk::CheckSource {
 public:
  // What checks need.
  struct Parts {
    std::unique_ptr<probes::CommandRunner> runner;
    std::function<std::unique_ptr<DiskQueue>()> make_queue;  // makes the thread for an exporter
    probes::ExporterFetch fetch;
    // The results of active checks; null: they are not read.
    std::unique_ptr<probes::CheckResults> results;
  };

  CheckedHardware(Edges edges, std::unique_ptr<Hardware> hardware, Parts parts);

  StatusOr<Inventory> Devices() override;
  DeviceEdits EditsFor(const std::string& device) const override {
    return hardware_->EditsFor(device);
  }
  Status CanPrepare(const std::string& device) const override {
    return hardware_->CanPrepare(device);
  }
  Status Start(HardwareEvents& events) override;
  // An error of the hardware is passed on, since it is about all devices; checks still run, and
  // their signs come with the next successful look.
  StatusOr<std::vector<probes::Sign>> Observe() override;
  void EndProcesses() override { runner_.reset(); }
  bool may_hang() const override { return hardware_->may_hang(); }
  std::vector<sdk::CheckReport> Checks() const override;

 private:
  const std::unique_ptr<Hardware> hardware_;
  std::unique_ptr<probes::CommandRunner> runner_;  // nullptr after EndProcesses
  probes::CommandProbe commands_;
  probes::ExporterProbe exporters_;
  const std::unique_ptr<probes::CheckResults> results_;
  std::optional<Inventory> devices_;
};

}  // namespace galen::device_driver
