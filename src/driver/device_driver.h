// A galen-driver without its process: hardware, judge and the SDK's DriverApp, wired. The program
// runs one on real sockets and files; tests run it on a FakeLoop. Belongs to its loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver_config.h"
#include "driver/hardware.h"
#include "driver/health_judge.h"
#include "sdk/driver_app.h"

namespace galen::device_driver {

class DeviceDriver {
 public:
  // What the driver needs of its process. All lent; they outlive the driver.
  struct Parts {
    sdk::DriverApp::Parts edges;
    probes::StateFile& state;
    const probes::RuleTable& rules;
    Hardware& hardware;
  };

  // Wires the parts; nothing is opened or read yet. Errors are those of the SDK's options.
  static StatusOr<std::unique_ptr<DeviceDriver>> Create(Parts parts, const DriverConfig& config);

  // Publishes the devices there are, listens, registers. Once; an error leaves the driver unusable.
  Status Start();
  // `done` runs once everything is closed in order: registration, claims under way, streams, the
  // socket.
  void Stop(std::function<void()> done) { app_->Stop(std::move(done)); }

  // "" when the kubelet or agent has registered the driver and all works; else what is missing.
  std::string WhyNotReady() const { return app_->WhyNotReady(); }
  // Where the driver's sockets are.
  const sdk::SocketPaths& paths() const { return app_->paths(); }

 private:
  DeviceDriver(Parts parts, const DriverConfig& config);

  // What the containers of a claim need, by device.
  Prepared Prepare(const DeviceClaim& claim) const;
  // Ask for a round at once: with what is known, or with a fresh look at the hardware.
  void TellSoon();
  void LookSoon();
  // One round of health, at the driver's pace and when something asks for it at once.
  void OneRound(HealthWriter& writer);
  // Whether the round has to look at the hardware; takes note that it does.
  bool TakeLook();
  // What there is, and what it shows.
  void LookAtAll();
  // Looks which devices there are, and publishes what is new.
  Status TakeInventory();
  // Publishes the devices, with the taints that their health asks for, when that differs from what
  // was published last.
  Status Offer();

  Parts parts_;
  HealthJudge judge_;
  HardwareEars ears_;
  const Duration poll_;
  Time next_look_{};  // the latest
  bool look_due_ = false, tell_due_ = false;
  const std::string taint_key_;  // "": devices are not tainted
  const Taint::Effect taint_effect_;
  std::optional<Inventory> devices_;    // as the hardware has them
  std::optional<Inventory> published_;  // with taints
  std::unique_ptr<sdk::DriverApp> app_;
};

}  // namespace galen::device_driver
