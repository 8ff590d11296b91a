#include "driver/device_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/version.h"
#include "sdk/app/driver_options.h"
#include "sdk/inventory.h"

namespace galen::device_driver {
namespace {

// "" if the attribute is missing or no text.
std::string TextOf(const Device& device, const std::string& attribute) {
  const auto found = device.attributes.find(attribute);
  const auto* text =
      found == device.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? "" : *text;
}

// For each device that is a part of another (a MIG instance of a GPU) the UUID of the whole, by the
// part's name. A whole that is a device itself is listed with its own UUID.
std::map<std::string, std::string> WholesOf(const Inventory& devices) {
  std::map<std::string, std::string> wholes;
  std::set<std::string> cut;
  for (const Device& device : devices) {
    const std::string parent = TextOf(device, "parentUUID");
    if (parent.empty()) continue;
    wholes[device.name] = parent;
    cut.insert(parent);
  }
  for (const Device& device : devices) {
    const std::string uuid = TextOf(device, "uuid");
    if (cut.contains(uuid)) wholes[device.name] = uuid;
  }
  return wholes;
}

// Which piece of hardware it is, by the first of these that it has: "uuid=GPU-1". The name stays
// with the place. "" when nothing says it.
std::string HardwareOf(const Device& device) {
  for (const auto* attribute : {"uuid", "serial", "mac", "resource.kubernetes.io/pciBusID"}) {
    const std::string text = TextOf(device, attribute);
    if (!text.empty()) return fmt::format("{}={}", attribute, text);
  }
  return "";
}

// Whether one of that name was there, and was another: a MIG instance that is made anew between two
// looks gets the name of the one that was destroyed, and a network card that of the one in its
// place.
bool IsAnother(const Device& device, const Inventory& before) {
  const auto old = std::ranges::find(before, device.name, &Device::name);
  return old != before.end() && probes::MeanDifferentHardware(HardwareOf(device), HardwareOf(*old));
}

}  // namespace

DeviceDriver::DeviceDriver(Edges edges, Hardware& hardware, Calls calls, const DriverConfig& config)
    : edges_(edges),
      hardware_(hardware),
      calls_(std::move(calls)),
      judge_(
          edges,
          {.driver = config.driver.name, .pool = sdk::PoolOf(config.driver), .awaits_checks = true},
          {.on_verdict = [this] { ReportSoon(); },
           .look_again = [this] { LookSoon(); },
           .on_signs =
               [this](const std::vector<probes::Sign>& signs) {
                 if (watch_) watch_->Take(signs);
               }}),
      events_{judge_, [this] { LookSoon(); }},
      poll_(config.poll),
      offer_policy_(OfferPolicyOf(config)),
      asked_for_(AskedFor(config)) {
  // Devices are not expected to show every sign of a built-in table, so only an operator's table is
  // watched.
  if (!config.rules_path.empty()) watch_.emplace(edges, !config.kernel_log.empty());
  edges_.metrics.DeclareGauge("galen_build_info", "1; the labels are version and driver.");
  edges_.metrics.Set("galen_build_info", {{"version", kVersion}, {"driver", config.driver.name}},
                     1);
}

Status DeviceDriver::Start() {
  RETURN_IF_ERROR(TakeInventory());
  if (devices_ && devices_->empty() && !asked_for_.empty())
    edges_.log.Warning("nothing on this machine is such a device", {{"asked_for", asked_for_}});
  if (watch_) watch_->Start();
  // After the inventory: the hardware's signs must be about known devices.
  return hardware_.Start(events_);
}

Prepared DeviceDriver::Prepare(const DeviceClaim& claim) const {
  std::map<std::string, CdiEdits> edits;
  for (const DeviceClaim::Held& held : claim.devices) {
    DeviceEdits of_device = EditsFor(held.device);
    if (auto* failure = std::get_if<Failure>(&of_device)) return std::move(*failure);
    edits[held.device] = std::get<CdiEdits>(std::move(of_device));
  }
  return edits;
}

DeviceEdits DeviceDriver::EditsFor(const std::string& device) const {
  if (const Status status = hardware_.CanPrepare(device); !status.ok()) {
    return Failure{status.message()};
  }
  return hardware_.EditsFor(device);
}

void DeviceDriver::ReportSoon() {
  report_due_ = true;
  calls_.health_changed();
}

void DeviceDriver::LookSoon() {
  look_due_ = true;
  calls_.health_changed();
}

// A sign that the hardware reported by itself is complete for its device: reading hundreds of
// others first would only delay it.
bool DeviceDriver::TakeLook() {
  const Time now = edges_.loop.Now();
  const bool only_reports = std::exchange(report_due_, false) && !look_due_ && now < next_look_;
  if (only_reports) return false;
  look_due_ = false;
  next_look_ = now + poll_;
  return true;
}

void DeviceDriver::LookAtAll() {
  const Status inventory = TakeInventory();
  // If devices cannot even be listed, none can be trusted: all become Unknown with the reason.
  judge_.Observe(inventory.ok() ? hardware_.Observe()
                                : StatusOr<std::vector<probes::Sign>>(inventory));
}

void DeviceDriver::Report(HealthWriter& writer) {
  if (TakeLook()) LookAtAll();
  judge_.Report(writer);
  // The devices were valid and our taints are too; a fault here would be ours.
  if (devices_) GALEN_CHECK(Offer().ok());
}

Status DeviceDriver::TakeInventory() {
  ASSIGN_OR_RETURN(Inventory devices, hardware_.Devices());
  if (devices == devices_) return OkStatus();
  // Checked as a whole before a part of it is published.
  RETURN_IF_ERROR(sdk::ValidateInventory(devices));
  std::vector<std::string> names, same;
  std::map<std::string, std::string> models, hardware;
  for (const Device& device : devices) {
    names.push_back(device.name);
    if (!devices_ || !IsAnother(device, *devices_)) same.push_back(device.name);
    models[device.name] = TextOf(device, "model");
    hardware[device.name] = HardwareOf(device);
  }
  // Without what was found of those that had their names.
  if (same.size() < names.size()) judge_.SetDevices(same, hardware);
  judge_.SetDevices(names, hardware);
  judge_.SetModels(models, WholesOf(devices));
  if (watch_) watch_->SetDevices(devices);
  devices_ = std::move(devices);
  return Offer();
}

Status DeviceDriver::Offer() {
  Inventory offered =
      offer_policy_.any() ? OfferedWith(offer_policy_, *devices_, judge_.Verdicts()) : *devices_;
  if (offered == published_) return OkStatus();
  if (const std::optional<Failure> failure = calls_.publish(offered)) {
    return InvalidArgument("{}", failure->message);
  }
  published_ = std::move(offered);
  return OkStatus();
}

}  // namespace galen::device_driver
