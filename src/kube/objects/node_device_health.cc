#include "kube/objects/node_device_health.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "kube/objects/meta.h"

namespace galen::kube {
namespace {

void PutText(Json& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

void PutTime(Json& object, std::string_view name, const std::optional<WallTime>& time,
             int digits = 0) {
  if (time) object[name] = FormatRfc3339(*time, digits);
}

// A share of capability is text in the object: custom resources have no portable fractions.
double ParseShare(const std::string& text) {
  double share = 1.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  // A text that is not a share counts as a whole device: no reduction is shown that nobody
  // reported.
  return whole && share >= 0 && share <= 1 ? share : 1.0;
}

Json EncodeCause(const Cause& cause) {
  Json out = Json::MakeObject({{"code", cause.code}});
  PutText(out, "message", cause.message);
  PutText(out, "value", cause.value);
  PutText(out, "threshold", cause.threshold);
  PutText(out, "unit", cause.unit);
  PutText(out, "owner", std::string(ToString(cause.owner)));
  return out;
}

Cause DecodeCause(const Json& cause) {
  return {.code = cause["code"].AsString(),
          .message = cause["message"].AsString(),
          .value = cause["value"].AsString(),
          .threshold = cause["threshold"].AsString(),
          .unit = cause["unit"].AsString(),
          .owner = ParseFaultOwner(cause["owner"].AsString())};
}

Json EncodeNodeDevice(const NodeDevice& device) {
  Json out = Json::MakeObject({{"driver", device.identity.id.driver},
                               {"pool", device.identity.id.pool},
                               {"device", device.identity.id.device},
                               {"state", ToString(device.state)}});
  PutText(out, "serial", device.identity.serial);
  PutText(out, "model", device.identity.model);
  if (device.state == HealthState::kDegraded) out["share"] = fmt::format("{:.2f}", device.share);
  PutTime(out, "since", device.since, 3);  // of the sign; milliseconds order cause and effect
  if (!device.cause.code.empty()) out["cause"] = EncodeCause(device.cause);
  if (device.deadline_seconds > 0) out["deadlineSeconds"] = device.deadline_seconds;
  PutText(out, "deadlineSource", device.deadline_source);
  PutText(out, "deadlineRule", device.deadline_rule);
  for (const DeviceUse& use : device.used_by) {
    out["usedBy"].Append(Json::MakeObject({{"namespace", use.pod.ns},
                                           {"pod", use.pod.name},
                                           {"container", use.container},
                                           {"claim", use.claim}}));
  }
  return out;
}

NodeDevice DecodeNodeDevice(const Json& device) {
  NodeDevice out;
  out.identity = {
      .id = {device["driver"].AsString(), device["pool"].AsString(), device["device"].AsString()},
      .serial = device["serial"].AsString(),
      .model = device["model"].AsString()};
  out.state = ParseHealthState(device["state"].AsString()).value_or(HealthState::kUnknown);
  if (device.Has("share")) out.share = ParseShare(device["share"].AsString());
  out.since = DecodeTime(device["since"]);
  out.cause = DecodeCause(device["cause"]);
  out.deadline_seconds = static_cast<int>(device["deadlineSeconds"].AsInt());
  out.deadline_source = device["deadlineSource"].AsString();
  out.deadline_rule = device["deadlineRule"].AsString();
  for (const Json& use : device["usedBy"].items()) {
    out.used_by.push_back({.pod = {use["namespace"].AsString(), use["pod"].AsString()},
                           .container = use["container"].AsString(),
                           .claim = use["claim"].AsString()});
  }
  return out;
}

Json EncodeDriver(const NodeDriver& driver) {
  Json out = Json::MakeObject({{"name", driver.name}, {"health", driver.health}});
  PutText(out, "endpoint", driver.endpoint);
  PutText(out, "version", driver.version);
  PutTime(out, "connectedSince", driver.connected_since);
  return out;
}

NodeDriver DecodeDriver(const Json& driver) {
  return {.name = driver["name"].AsString(),
          .endpoint = driver["endpoint"].AsString(),
          .version = driver["version"].AsString(),
          .health = driver["health"].AsString(),
          .connected_since = DecodeTime(driver["connectedSince"])};
}

Json EncodePostMortem(const NodePostMortem& record) {
  Json out = Json::MakeObject({{"namespace", record.pod.key.ns},
                               {"pod", record.pod.key.name},
                               {"uid", record.pod.uid},
                               {"number", record.number},
                               {"end", record.end},
                               {"ended", FormatRfc3339(record.ended, 3)},
                               {"driver", record.device.driver},
                               {"pool", record.device.pool},
                               {"device", record.device.device},
                               {"state", ToString(record.state)},
                               {"verdict", record.verdict},
                               {"confidence", fmt::format("{:.2f}", record.confidence)}});
  PutText(out, "container", record.container);
  if (record.exit_code) out["exitCode"] = *record.exit_code;
  PutText(out, "code", record.code);
  PutText(out, "message", record.message);
  PutText(out, "summary", record.summary);
  return out;
}

NodePostMortem DecodePostMortem(const Json& record) {
  NodePostMortem out{
      .pod = {{record["namespace"].AsString(), record["pod"].AsString()}, record["uid"].AsString()},
      .number = static_cast<int>(record["number"].AsInt(1)),
      .end = record["end"].AsString(),
      .ended = DecodeTime(record["ended"]).value_or(WallTime{}),
      .container = record["container"].AsString(),
      .exit_code = {},
      .device = {record["driver"].AsString(), record["pool"].AsString(),
                 record["device"].AsString()},
      .state = ParseHealthState(record["state"].AsString()).value_or(HealthState::kUnknown),
      .code = record["code"].AsString(),
      .message = record["message"].AsString(),
      .verdict = record["verdict"].AsString(),
      .confidence = 0,
      .summary = record["summary"].AsString()};
  if (record["exitCode"].is_int()) out.exit_code = static_cast<int>(record["exitCode"].AsInt());
  // An absent confidence stays 0.
  if (record.Has("confidence")) out.confidence = ParseShare(record["confidence"].AsString());
  return out;
}

Json EncodeCondition(const Condition& condition) {
  Json out = Json::MakeObject({{"type", condition.type},
                               {"status", condition.status},
                               {"reason", condition.reason},
                               {"message", condition.message}});
  PutTime(out, "lastTransitionTime", condition.changed);
  return out;
}

Condition DecodeCondition(const Json& condition) {
  return {.type = condition["type"].AsString(),
          .status = condition["status"].AsString(),
          .reason = condition["reason"].AsString(),
          .message = condition["message"].AsString(),
          .changed = DecodeTime(condition["lastTransitionTime"])};
}

Json EncodeSummary(const HealthSummary& summary) {
  return Json::MakeObject({{"devices", summary.devices},
                           {"healthy", summary.healthy},
                           {"degraded", summary.degraded},
                           {"unhealthy", summary.unhealthy},
                           {"unknown", summary.unknown}});
}

HealthSummary DecodeSummary(const Json& summary) {
  const auto count = [&](std::string_view name) { return static_cast<int>(summary[name].AsInt()); };
  return {.devices = count("devices"),
          .healthy = count("healthy"),
          .degraded = count("degraded"),
          .unhealthy = count("unhealthy"),
          .unknown = count("unknown")};
}

Json EncodeStatus(const NodeDeviceHealth& health) {
  Json agent = Json::MakeObject({{"version", health.agent_version}, {"role", health.agent_role}});
  PutTime(agent, "since", health.agent_since);
  Json status = Json::MakeObject({{"observedGeneration", health.observed_generation},
                                  {"agent", std::move(agent)},
                                  {"summary", EncodeSummary(health.summary)}});
  Json& conditions = status["conditions"] = Json::Array{};
  for (const Condition& c : health.conditions) conditions.Append(EncodeCondition(c));
  Json& devices = status["devices"] = Json::Array{};
  for (const NodeDevice& device : health.devices) devices.Append(EncodeNodeDevice(device));
  Json& drivers = status["drivers"] = Json::Array{};
  for (const NodeDriver& driver : health.drivers) drivers.Append(EncodeDriver(driver));
  for (const NodePostMortem& record : health.post_mortems) {
    status["postMortems"].Append(EncodePostMortem(record));
  }
  return status;
}

void Cut(std::string& text, std::size_t bytes_max) {
  if (text.size() > bytes_max) text = CutText(text, bytes_max);
}

// The names stay whole: two that are cut could become one.
void CutTexts(NodeDevice& device) {
  Cause& cause = device.cause;
  for (std::string* fact : {&device.identity.serial, &device.identity.model, &cause.code,
                            &cause.value, &cause.threshold}) {
    Cut(*fact, kDeviceFactBytesMax);
  }
  Cut(cause.message, kCauseMessageBytesMax);
  Cut(cause.unit, kUnitBytesMax);
  Cut(device.deadline_rule, kDeadlineRuleBytesMax);
}

// The server refuses an object with two rows of one name.
void BoundDrivers(std::vector<NodeDriver>& drivers) {
  std::ranges::sort(drivers, [](const NodeDriver& a, const NodeDriver& b) {
    return std::tie(a.name, b.connected_since, a.endpoint) <
           std::tie(b.name, a.connected_since, b.endpoint);
  });
  const auto [first, last] = std::ranges::unique(drivers, {}, &NodeDriver::name);
  drivers.erase(first, last);
  if (drivers.size() > kNodeDriversMax) drivers.resize(kNodeDriversMax);
}

}  // namespace

HealthSummary Summarize(const std::vector<DeviceHealth>& devices) {
  HealthSummary summary;
  for (const DeviceHealth& device : devices) {
    ++summary.devices;
    switch (device.state) {
      case HealthState::kHealthy:
        ++summary.healthy;
        break;
      case HealthState::kUnknown:
        ++summary.unknown;
        break;
      case HealthState::kDegraded:
        ++summary.degraded;
        break;
      case HealthState::kUnhealthy:
        ++summary.unhealthy;
        break;
    }
  }
  return summary;
}

void SortAndBound(NodeDeviceHealth& health) {
  std::ranges::sort(health.devices, [](const NodeDevice& a, const NodeDevice& b) {
    return std::tie(b.state, a.identity.id) < std::tie(a.state, b.identity.id);
  });
  if (health.devices.size() > kNodeDevicesMax) {
    health.devices.resize(kNodeDevicesMax);
    health.devices.shrink_to_fit();  // the agent keeps what it wrote last
  }
  std::size_t uses_left = kNodeUsesMax;
  for (NodeDevice& device : health.devices) {
    std::ranges::sort(device.used_by);
    const std::size_t uses = std::min({device.used_by.size(), kDeviceUsesMax, uses_left});
    device.used_by.resize(uses);
    uses_left -= uses;
    CutTexts(device);
  }
  BoundDrivers(health.drivers);
  if (health.post_mortems.size() > kNodePostMortemsMax) {
    health.post_mortems.resize(kNodePostMortemsMax);
  }
  for (NodePostMortem& record : health.post_mortems) {
    Cut(record.code, kDeviceFactBytesMax);
    Cut(record.message, kCauseMessageBytesMax);
    Cut(record.summary, kPostMortemSummaryBytesMax);
  }
  if (health.conditions.size() > kNodeConditionsMax) health.conditions.resize(kNodeConditionsMax);
  for (Condition& condition : health.conditions) Cut(condition.message, kConditionMessageBytesMax);
}

bool SaysTheSame(const NodeDeviceHealth& before, const NodeDeviceHealth& after) {
  // A fast path: most looks find nothing new.
  if (before == after) return true;
  NodeDeviceHealth a = before, b = after;
  for (NodeDeviceHealth* health : {&a, &b}) {
    health->resource_version.clear();
    health->uid.clear();
  }
  return EncodeNodeDeviceHealth(a) == EncodeNodeDeviceHealth(b);
}

Json EncodeNodeDeviceHealth(const NodeDeviceHealth& health) {
  Json meta = Json::MakeObject({{"name", health.node}});
  PutText(meta, "uid", health.uid);
  PutText(meta, "resourceVersion", health.resource_version);
  return Json::MakeObject({{"apiVersion", "galen.dev/v1alpha1"},
                           {"kind", "NodeDeviceHealth"},
                           {"metadata", std::move(meta)},
                           {"status", EncodeStatus(health)}});
}

StatusOr<NodeDeviceHealth> DecodeNodeDeviceHealth(const Json& object) {
  ASSIGN_OR_RETURN(const Meta meta, DecodeMeta(object));
  const Json& status = object["status"];
  NodeDeviceHealth health;
  health.node = meta.key.name;
  health.uid = meta.uid;
  health.resource_version = object["metadata"]["resourceVersion"].AsString();
  health.observed_generation = status["observedGeneration"].AsInt();
  health.agent_version = status["agent"]["version"].AsString();
  health.agent_role = status["agent"]["role"].AsString();
  health.agent_since = DecodeTime(status["agent"]["since"]);
  health.summary = DecodeSummary(status["summary"]);
  for (const Json& c : status["conditions"].items())
    health.conditions.push_back(DecodeCondition(c));
  for (const Json& d : status["devices"].items()) health.devices.push_back(DecodeNodeDevice(d));
  for (const Json& d : status["drivers"].items()) health.drivers.push_back(DecodeDriver(d));
  for (const Json& p : status["postMortems"].items()) {
    health.post_mortems.push_back(DecodePostMortem(p));
  }
  return health;
}

}  // namespace galen::kube
