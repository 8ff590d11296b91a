// The GPUs of galen-driver: simulated ones, which show what is injected, and on demand the real
// kernel's log for what it says of their PCI addresses. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/edges.h"
#include "driver/hardware.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/simulator/simulator.h"
#include "sdk/app/simulator_service.h"

namespace galen::device_driver {

class GpuHardware final : public Hardware, public sdk::SimulatedDevices {
 public:
  struct Options {
    int count = 8;  // gpu-0 and on
    // The same one gives the same GPUs, with their serials and addresses, so a restart finds its
    // devices again.
    std::string seed = {};
    bool shared = false;  // claims may hold parts of a GPU's memory, many at once
  };

  // `kernel_log` may be null: then the kernel's log is not read.
  GpuHardware(Edges edges, Options options, std::unique_ptr<probes::KernelLogSource> kernel_log);

  // The simulated GPUs; always the same ones, and never an error.
  StatusOr<Inventory> Devices() override;
  CdiEdits EditsFor(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override { return simulator_.Observe(); }

  std::vector<Sign> InjectableSigns() const override;
  std::vector<std::string> Names() const override;
  // REQUIRES: started.
  StatusOr<WallTime> Inject(std::string_view device, std::string_view sign,
                            std::string_view value) override;

 private:
  Edges edges_;
  const bool shared_;
  probes::GpuSimulator simulator_;
  std::unique_ptr<probes::KernelLogSource> kernel_log_source_;
  std::unique_ptr<probes::KernelLog> kernel_log_;
  HardwareEvents* events_ = nullptr;
};

}  // namespace galen::device_driver
