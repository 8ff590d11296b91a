#include "driver/device_driver.h"

#include <utility>

#include "base/check.h"
#include "base/version.h"
#include "sdk/inventory.h"

namespace galen::device_driver {

DeviceDriver::DeviceDriver(Parts parts, const DriverConfig& config)
    : parts_(parts),
      judge_({parts.edges.loop, parts.edges.log, parts.edges.metrics, parts.state, parts.rules},
             {.driver = config.driver.name,
              .pool = config.driver.pool.empty() ? config.driver.node : config.driver.pool},
             {.on_verdict = [this] { TellSoon(); }, .look_again = [this] { LookSoon(); }}),
      ears_{judge_, [this] { LookSoon(); }},
      poll_(config.poll),
      taint_key_(config.taint_unhealthy.empty() ? "" : config.driver.name + "/unhealthy"),
      taint_effect_(config.taint_unhealthy == "NoExecute" ? Taint::Effect::kNoExecute
                                                          : Taint::Effect::kNoSchedule) {
  parts_.edges.metrics.DeclareGauge("galen_build_info", "1; the labels are version and driver.");
  parts_.edges.metrics.Set("galen_build_info",
                           {{"version", kVersion}, {"driver", config.driver.name}}, 1);
}

StatusOr<std::unique_ptr<DeviceDriver>> DeviceDriver::Create(Parts parts,
                                                             const DriverConfig& config) {
  std::unique_ptr<DeviceDriver> driver(new DeviceDriver(parts, config));
  sdk::DriverApp::Handlers handlers;
  handlers.prepare = [self = driver.get()](const DeviceClaim& claim) {
    return self->Prepare(claim);
  };
  handlers.health_period = config.poll;
  handlers.health = [self = driver.get()](HealthWriter& writer) { self->OneRound(writer); };
  ASSIGN_OR_RETURN(driver->app_,
                   sdk::DriverApp::Create(parts.edges, SdkOptions(config), std::move(handlers)));
  // Before the socket is open, so that no call meets a half of the services.
  parts.hardware.Serve(driver->app_->methods());
  return driver;
}

Status DeviceDriver::Start() {
  RETURN_IF_ERROR(TakeInventory());
  // After the inventory: what hardware says of a device must find it known.
  RETURN_IF_ERROR(parts_.hardware.Start(ears_));
  return app_->Start();
}

Prepared DeviceDriver::Prepare(const DeviceClaim& claim) const {
  std::map<std::string, CdiEdits> edits;
  for (const DeviceClaim::Held& held : claim.devices) {
    edits[held.device] = parts_.hardware.EditsFor(held.device);
  }
  return edits;
}

void DeviceDriver::TellSoon() {
  tell_due_ = true;
  app_->HealthChanged();
}

void DeviceDriver::LookSoon() {
  look_due_ = true;
  app_->HealthChanged();
}

// A sign that came by itself says all of its device: reading hundreds of others first would only
// make it late.
bool DeviceDriver::TakeLook() {
  const Time now = parts_.edges.loop.Now();
  const bool only_tells = std::exchange(tell_due_, false) && !look_due_ && now < next_look_;
  if (only_tells) return false;
  look_due_ = false;
  next_look_ = now + poll_;
  return true;
}

void DeviceDriver::LookAtAll() {
  const Status inventory = TakeInventory();
  // Devices that cannot even be counted cannot be trusted: all become Unknown with the reason.
  judge_.Observe(inventory.ok() ? parts_.hardware.Observe()
                                : StatusOr<std::vector<probes::Sign>>(inventory));
}

void DeviceDriver::OneRound(HealthWriter& writer) {
  if (TakeLook()) LookAtAll();
  judge_.Report(writer);
  // The devices were found right and a taint of ours is; a fault here would be our own.
  if (devices_) GALEN_CHECK(Offer().ok());
}

Status DeviceDriver::TakeInventory() {
  ASSIGN_OR_RETURN(Inventory devices, parts_.hardware.Devices());
  if (devices == devices_) return OkStatus();
  // Refused as a whole before anybody is told of a part of it.
  RETURN_IF_ERROR(sdk::ValidateInventory(devices));
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.name);
  judge_.SetDevices(names);
  devices_ = std::move(devices);
  return Offer();
}

Status DeviceDriver::Offer() {
  Inventory offered = *devices_;
  const std::map<std::string, std::string> unhealthy =
      taint_key_.empty() ? std::map<std::string, std::string>() : judge_.Unhealthy();
  for (Device& device : offered) {
    const auto it = unhealthy.find(device.name);
    if (it == unhealthy.end()) continue;
    // A code of an operator's own rules may be no label value.
    device.taints.push_back({.key = taint_key_,
                             .value = sdk::IsTaintValue(it->second) ? it->second : "",
                             .effect = taint_effect_});
  }
  if (offered == published_) return OkStatus();
  RETURN_IF_ERROR(app_->Publish(offered));
  published_ = std::move(offered);
  return OkStatus();
}

}  // namespace galen::device_driver
