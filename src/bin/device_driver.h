// A galen-driver without its process: hardware, judge and the SDK's DriverApp, wired. The program
// runs one on real sockets and files; tests run it on a FakeLoop. Belongs to its loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bin/driver_config.h"
#include "bin/hardware.h"
#include "bin/health_judge.h"
#include "sdk/driver_app.h"

namespace galen::device_driver {

class DeviceDriver {
 public:
  // All lent; they outlive the driver.
  struct Parts {
    sdk::DriverApp::Parts edges;
    probes::StateFile& state;
    const probes::RuleTable& rules;
    Hardware& hardware;
  };

  static StatusOr<std::unique_ptr<DeviceDriver>> Create(Parts parts, const DriverConfig& config);

  // Publishes the devices there are, listens, registers.
  Status Start();
  // `done` runs once everything is closed in order.
  void Stop(std::function<void()> done) { app_->Stop(std::move(done)); }

  std::string WhyNotReady() const { return app_->WhyNotReady(); }
  const sdk::SocketPaths& paths() const { return app_->paths(); }

 private:
  DeviceDriver(Parts parts, const DriverConfig& config);

  Prepared Prepare(const DeviceClaim& claim) const;
  void LookAtAll(HealthWriter& writer);
  Status TakeInventory();

  Parts parts_;
  HealthJudge judge_;
  HardwareEars ears_;
  std::optional<std::vector<std::string>> names_;  // of the inventory that was published last
  std::unique_ptr<sdk::DriverApp> app_;
};

}  // namespace galen::device_driver
