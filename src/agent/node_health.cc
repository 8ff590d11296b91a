#include "agent/node_health.h"

#include <algorithm>
#include <map>
#include <utility>

namespace galen::agent {
namespace {

// One line a container that sees the device; one without a container when none does.
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
      .used_by = UsesOf(input, health.id)};
  if (health.since != WallTime{}) device.since = health.since;
  return device;
}

// One entry a driver, of the instance that speaks: the list is keyed by name, and an object with
// a key twice is refused. Two instances are there in each rolling update.
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
  std::vector<DeviceHealth> worst_first = input.devices;
  std::sort(worst_first.begin(), worst_first.end(), WorseFirst);
  const WantedCondition devices = ConditionOf(worst_first, input.degraded);
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
  for (const DeviceHealth& device : worst_first) health.devices.push_back(DeviceOf(input, device));
  health.summary = kube::Summarize(health.devices);
  kube::SortAndBound(health);
  return health;
}

}  // namespace galen::agent
