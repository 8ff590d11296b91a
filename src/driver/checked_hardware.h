// Any hardware, and beside it the commands that a table of rules names for its devices.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "driver/edges.h"
#include "driver/hardware.h"
#include "probes/command/command_probe.h"
#include "probes/command/command_runner.h"

namespace galen::device_driver {

// What placeholders of commands stand for on this device: its name and those of its attributes that
// kCommandPlaceholders asks for ("pci" is resource.kubernetes.io/pciBusID).
probes::CheckedDevice CheckedDeviceOf(const Device& device);

// Shows what its hardware shows, and what the commands say. Belongs to its loop.
class CheckedHardware final : public Hardware {
 public:
  CheckedHardware(Edges edges, std::unique_ptr<Hardware> hardware,
                  std::unique_ptr<probes::CommandRunner> runner);

  StatusOr<Inventory> Devices() override;
  CdiEdits EditsFor(const std::string& device) const override {
    return hardware_->EditsFor(device);
  }
  Status Start(HardwareEvents& events) override;
  // An error of the hardware is passed on, since it is about all devices; commands run all the
  // same, and their signs come with the next look that succeeds.
  StatusOr<std::vector<probes::Sign>> Observe() override;
  bool may_hang() const override { return hardware_->may_hang(); }

 private:
  const std::unique_ptr<Hardware> hardware_;
  const std::unique_ptr<probes::CommandRunner> runner_;
  probes::CommandProbe commands_;
  std::optional<Inventory> devices_;
};

}  // namespace galen::device_driver
