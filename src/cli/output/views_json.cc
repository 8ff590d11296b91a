// Tested by views_test.cc, with the tables.
#include "cli/output/views.h"

namespace galen::cli {
namespace {

// Null for a time that is not known.
Json Time(std::optional<WallTime> time) {
  return !time || time == WallTime{} ? Json() : Json(FormatRfc3339(*time, 3));
}

// Null where there is none, as for a healthy device.
Json CauseJson(const Cause& cause) {
  if (cause == Cause()) return Json();
  return Json::MakeObject({{"code", cause.code},
                           {"message", cause.message},
                           {"value", cause.value},
                           {"threshold", cause.threshold},
                           {"unit", cause.unit},
                           {"owner", ToString(cause.owner)}});
}

// Null where it is not known: an Unhealthy device may still do some work, but how much is unknown.
Json ShareJson(const DeviceHealth& health) {
  if (health.state == HealthState::kHealthy) return Json(1.0);
  const bool known = health.state == HealthState::kDegraded && health.share < 1;
  return known ? Json(health.share) : Json();
}

Json DeviceJson(const DeviceView& device) {
  const DeviceIdentity& identity = device.identity;
  Json json = Json::MakeObject({{"driver", identity.id.driver},
                                {"pool", identity.id.pool},
                                {"device", identity.id.device},
                                {"serial", identity.serial},
                                {"model", identity.model},
                                {"node", device.node},
                                {"state", ToString(device.health.state)},
                                {"share", ShareJson(device.health)},
                                {"since", Time(device.health.since)}});
  json["cause"] = CauseJson(device.health.cause);
  if (device.deadline_seconds) {
    json["deadlineSeconds"] = *device.deadline_seconds;
    json["deadlineSource"] = device.deadline_source;
    if (!device.deadline_rule.empty()) json["deadlineRule"] = device.deadline_rule;
  }
  return json;
}

Json HoldingJson(const Holding& holding) {
  return Json::MakeObject({{"namespace", holding.pod.ns},
                           {"pod", holding.pod.name},
                           {"claim", holding.claim},
                           {"request", holding.request}});
}

// An object around the list, so that members can be added later.
Json Items(Json::Array items) { return Json::MakeObject({{"items", std::move(items)}}); }

}  // namespace

Json DevicesJson(const Fleet& fleet, const ViewOptions& options) {
  Json::Array items;
  for (const DeviceView& device : fleet.devices) {
    if (!options.Shows(device.identity.id.device)) continue;
    Json json = DeviceJson(device);
    Json::Array holders;
    for (const Holding& holding : device.holders) holders.push_back(HoldingJson(holding));
    json["usedBy"] = Json(std::move(holders));
    items.push_back(std::move(json));
  }
  return Items(std::move(items));
}

Json PodsJson(const Fleet& fleet, const ViewOptions& options) {
  Json::Array items;
  for (const DeviceView& device : fleet.devices) {
    for (const Holding& holding : device.holders) {
      if (!options.ns.empty() && options.ns != holding.pod.ns) continue;
      if (!options.Shows(holding.pod.name)) continue;
      Json json = HoldingJson(holding);
      json["device"] = DeviceJson(device);
      items.push_back(std::move(json));
    }
  }
  return Items(std::move(items));
}

Json NodesJson(const Fleet& fleet, const ViewOptions& options) {
  Json::Array items;
  for (const kube::NodeDeviceHealth& node : fleet.nodes) {
    if (options.Shows(node.node)) items.push_back(kube::EncodeNodeDeviceHealth(node));
  }
  return Items(std::move(items));
}

Json DriversJson(const Fleet& fleet, const ViewOptions& options) {
  Json::Array items;
  for (const kube::NodeDeviceHealth& node : fleet.nodes) {
    for (const kube::NodeDriver& driver : node.drivers) {
      if (!options.Shows(driver.name)) continue;
      items.push_back(Json::MakeObject({{"node", node.node},
                                        {"name", driver.name},
                                        {"endpoint", driver.endpoint},
                                        {"service", driver.version},
                                        {"health", driver.health},
                                        {"driverMissing", LacksDriver(driver)},
                                        {"connected", driver.connected_since.has_value()},
                                        {"connectedSince", Time(driver.connected_since)}}));
    }
  }
  return Items(std::move(items));
}

}  // namespace galen::cli
