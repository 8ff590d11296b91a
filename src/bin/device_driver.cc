#include "bin/device_driver.h"

#include <utility>

#include "base/version.h"

namespace galen::device_driver {

DeviceDriver::DeviceDriver(Parts parts, const DriverConfig& config)
    : parts_(parts),
      judge_({parts.edges.loop, parts.edges.log, parts.edges.metrics, parts.state, parts.rules},
             {.driver = config.driver.name,
              .pool = config.driver.pool.empty() ? config.driver.node : config.driver.pool},
             [this] { app_->HealthChanged(); }),
      ears_{judge_, [this] { app_->HealthChanged(); }} {
  parts_.edges.metrics.DeclareGauge("galen_build_info", "1; the labels tell version and driver.");
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
  handlers.health = [self = driver.get()](HealthWriter& writer) { self->LookAtAll(writer); };
  ASSIGN_OR_RETURN(driver->app_,
                   sdk::DriverApp::Create(parts.edges, config.driver, std::move(handlers)));
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

// One round: what there is, what it shows, how it is.
void DeviceDriver::LookAtAll(HealthWriter& writer) {
  const Status inventory = TakeInventory();
  // Devices that cannot even be counted cannot be trusted: all become Unknown with the reason.
  judge_.Observe(inventory.ok() ? parts_.hardware.Observe()
                                : StatusOr<std::vector<probes::Sign>>(inventory));
  judge_.Report(writer);
}

Status DeviceDriver::TakeInventory() {
  ASSIGN_OR_RETURN(Inventory inventory, parts_.hardware.Devices());
  if (inventory == inventory_) return OkStatus();
  RETURN_IF_ERROR(app_->Publish(inventory));
  std::vector<std::string> names;
  for (const Device& device : inventory) names.push_back(device.name);
  judge_.SetDevices(names);
  inventory_ = std::move(inventory);
  return OkStatus();
}

}  // namespace galen::device_driver
