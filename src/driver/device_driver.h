// What a driver of any hardware gives to the SDK: its inventory, the health of its devices, and
// what containers get. The program gives it to a galen::Driver; tests to a DriverApp on a FakeLoop.
// Belongs to its loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver_config.h"
#include "driver/edges.h"
#include "driver/hardware.h"
#include "driver/health_judge.h"

namespace galen::device_driver {

class DeviceDriver {
 public:
  // What it asks of the SDK, as galen::Driver has it.
  struct Calls {
    std::function<std::optional<Failure>(Inventory)> publish;
    std::function<void()> health_changed;
  };

  // `hardware` is lent and outlives it. Nothing is opened or read yet.
  DeviceDriver(Edges edges, Hardware& hardware, Calls calls, const DriverConfig& config);

  // Publishes the devices there are, and begins to listen to them. Once, before the SDK asks; after
  // an error there is nothing to run.
  Status Start();
  // What the containers of a claim need, by device.
  Prepared Prepare(const DeviceClaim& claim) const;
  // One round of health, at the driver's pace and when something asks for it at once.
  void Report(HealthWriter& writer);

 private:
  // Ask for a round at once: with what is known, or with a fresh look at the hardware.
  void ReportSoon();
  void LookSoon();
  // Whether the round has to look at the hardware; takes note that it does.
  bool TakeLook();
  // What there is, and what it shows.
  void LookAtAll();
  // Looks which devices there are, and publishes what is new.
  Status TakeInventory();
  // Publishes the devices, with the taints that their health asks for, when that differs from what
  // was published last.
  Status Offer();

  Edges edges_;
  Hardware& hardware_;
  const Calls calls_;
  HealthJudge judge_;
  HardwareEvents events_;
  const Duration poll_;
  Time next_look_{};  // the latest
  bool look_due_ = false, tell_due_ = false;
  const std::string taint_key_;  // "": devices are not tainted
  const Taint::Effect taint_effect_;
  std::optional<Inventory> devices_;    // as the hardware has them
  std::optional<Inventory> published_;  // with taints
};

}  // namespace galen::device_driver
