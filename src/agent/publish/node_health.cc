#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "agent/publish/node_publisher.h"
#include "base/text.h"
#include "history/post_mortem/post_mortem_text.h"
#include "history/post_mortem/relevant_finding.h"

namespace galen::agent {
namespace {

// One entry for each container that sees the device; one without a container when none does.
std::vector<kube::DeviceUse> UsesOf(const NodeHealthInput& input, const DeviceId& id) {
  std::vector<kube::DeviceUse> uses;
  for (const ObjectKey& pod : input.claims->PodsOf(id)) {
    for (const HeldDevice& held : input.claims->DevicesOf(pod)) {
      if (held.device != id) continue;
      if (held.uses.empty()) uses.push_back({pod, "", held.claim});
      for (const ContainerUse& use : held.uses) uses.push_back({pod, use.container, held.claim});
    }
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

kube::NodeDevice DeviceOf(const NodeHealthInput& input, const DeviceHealth& health) {
  const EffectiveTimeout deadline = input.timeout_of(health.id);
  // Rounded up: a deadline of less than a second must not read as none.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(deadline.timeout).count();
  kube::NodeDevice device{
      .identity = input.identity_of(health.id),
      .state = health.state,
      .share = health.share,
      .cause = health.cause,
      .deadline_seconds = static_cast<int>(seconds),
      .deadline_source = seconds == 0 ? "" : std::string(ToString(deadline.source)),
      .deadline_rule = deadline.rule,
      .used_by = UsesOf(input, health.id)};
  if (health.since != WallTime{}) device.since = health.since;
  return device;
}

// One entry for each driver, of the instance whose reports count: the API server refuses an object
// that lists a name twice, and in each rolling update a driver has two instances.
std::vector<kube::NodeDriver> DriversOf(const std::vector<DriverInfo>& drivers) {
  std::vector<kube::NodeDriver> entries;
  for (const DriverInfo& driver : drivers) {
    // Sockets that have not said who they are cannot be listed by name.
    const bool known = !entries.empty() && entries.back().name == driver.name;
    if (driver.name.empty() || known) continue;
    entries.push_back({.name = driver.name,
                       .endpoint = driver.endpoint,
                       .version = std::string(ToString(driver.service)),
                       .health = std::string(ToString(driver.health)),
                       .connected_since = driver.connected_since});
  }
  return entries;
}

// Adds the health sources, one entry for each name as well: a source with the name of a listed
// driver is shown in that driver's entry.
void AddSources(const std::vector<DriverInfo>& sources, std::vector<kube::NodeDriver>& entries) {
  const std::vector<kube::NodeDriver> rows = DriversOf(sources);
  for (kube::NodeDriver row : rows) {
    const auto driver = std::ranges::find(entries, row.name, &kube::NodeDriver::name);
    if (driver == entries.end()) {
      row.version = kube::kHealthSourceVersion;
      entries.push_back(std::move(row));
    } else {
      driver->version += fmt::format(", {}", kube::kHealthSourceVersion);
    }
  }
}

// A short form: the record itself stays with the agent.
kube::NodePostMortem ShortOf(const history::PostMortem& record) {
  kube::NodePostMortem entry{.pod = record.pod,
                             .number = record.number,
                             .end = std::string(history::ToString(record.end)),
                             .ended = record.ended,
                             .container = "",
                             .exit_code = {},
                             .device = {},
                             .state = HealthState::kUnknown,
                             .code = "",
                             .message = "",
                             .verdict = std::string(ToString(record.verdict.kind)),
                             .confidence = record.verdict.confidence,
                             .summary = Printable(history::VerdictText(record))};
  if (const ContainerEnd* end = history::MostRelevantEnd(record)) {
    entry.container = end->container;
    entry.exit_code = end->exit_code;
  }
  if (record.devices.empty()) return entry;
  const history::PostMortemDevice& device = history::MostRelevantDevice(record);
  entry.device = device.identity.id;
  if (const auto* finding = history::FindingAtTheEnd(record, device)) {
    entry.state = finding->health.state;
  }
  if (const auto relevant = history::MostRelevantFinding(record, device)) {
    entry.code = relevant->finding->health.cause.code;
    entry.message = history::DetailOf(*relevant);
  }
  return entry;
}

// The devices that a condition may name, worst first: one for each state.
std::vector<DeviceHealth> WorstOfEachState(const std::vector<DeviceHealth>& devices) {
  std::map<HealthState, const DeviceHealth*, std::greater<>> worst;
  for (const DeviceHealth& device : devices) {
    const DeviceHealth*& present = worst[device.state];
    if (present == nullptr || WorseFirst(device, *present)) present = &device;
  }
  std::vector<DeviceHealth> all;
  for (const auto& [state, device] : worst) all.push_back(*device);
  return all;
}

WantedCondition Ready(const NodeHealthInput& input) {
  if (input.stopped) {
    return {"False", "AgentStopped", "galen-agent was stopped; the rest is as it was then"};
  }
  if (!input.synced) return {"False", "NotSynced", "lists are being read"};
  return {"True", "Running", ""};
}

WantedCondition DriversConnected(const std::vector<DriverInfo>& drivers) {
  // By driver: one connected instance of a rolling update is enough.
  std::map<std::string, bool> connected;
  for (const DriverInfo& driver : drivers) {
    if (!driver.name.empty()) connected[driver.name] |= driver.connected;
  }
  for (const auto& [name, is_connected] : connected) {
    if (is_connected) continue;
    return {"False", std::string(cause_code::kDriverGone), "driver " + name + " is not connected"};
  }
  if (connected.empty()) return {"True", "NoDrivers", "no driver is registered on this node"};
  return {"True", "AllConnected", ""};
}

kube::Condition ConditionFor(const std::string& type, const WantedCondition& wanted,
                             const std::vector<kube::Condition>& before, WallTime now) {
  WallTime changed = now;
  for (const kube::Condition& condition : before) {
    // The time of a condition is that of its status; another reason for the same status does not
    // move it.
    const bool same = condition.type == type && condition.status == wanted.status;
    if (same) changed = condition.changed.value_or(changed);
  }
  return {type, wanted.status, wanted.reason, wanted.message, changed};
}

}  // namespace

kube::NodeDeviceHealth NodeHealthOf(const NodeHealthInput& input,
                                    const std::vector<kube::Condition>& before, WallTime now) {
  const WantedCondition devices = ConditionOf(WorstOfEachState(input.devices), input.degraded);
  std::vector<const DeviceHealth*> worst_first;
  worst_first.reserve(input.devices.size());
  for (const DeviceHealth& device : input.devices) worst_first.push_back(&device);
  // Most devices of a large node are in no list: they are not even looked at more closely.
  const std::size_t listed = std::min(worst_first.size(), kube::kNodeDevicesMax);
  std::ranges::partial_sort(worst_first, worst_first.begin() + static_cast<std::ptrdiff_t>(listed),
                            [](const auto* a, const auto* b) { return WorseFirst(*a, *b); });
  worst_first.resize(listed);
  kube::NodeDeviceHealth health{
      .node = input.node,
      .agent_version = input.version,
      .agent_role = input.role,
      .agent_since = input.started,
      .conditions = {ConditionFor("Ready", Ready(input), before, now),
                     ConditionFor("DevicesHealthy", devices, before, now),
                     ConditionFor("DriversConnected", DriversConnected(input.drivers), before,
                                  now)},
      .drivers = DriversOf(input.drivers)};
  AddSources(input.health_sources, health.drivers);
  for (const DeviceHealth* device : worst_first) health.devices.push_back(DeviceOf(input, *device));
  if (input.post_mortems != nullptr) {
    for (const history::PostMortem& r : *input.post_mortems)
      health.post_mortems.push_back(ShortOf(r));
  }
  health.summary = kube::Summarize(input.devices);
  kube::SortAndBound(health);
  return health;
}

}  // namespace galen::agent
