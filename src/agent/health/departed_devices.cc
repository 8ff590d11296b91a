#include "agent/health/departed_devices.h"

#include <algorithm>

namespace galen::agent {
namespace {

// How long the device must have no more traces than these before it counts as gone; nullopt: it
// does not count as gone. The devices of a driver that is registered but dead stay.
std::optional<Duration> PatienceFor(const HealthCache::Entry& entry,
                                    const DepartedDevices::Traces& traces) {
  if (entry.health.state != HealthState::kUnknown || traces.held || traces.listed) return {};
  if (!traces.driver_registered) return DepartedDevices::kDriverGoneFor;
  const bool left_out =
      entry.silent() && traces.report_age && *traces.report_age <= entry.timeout.timeout;
  if (!left_out) return {};
  return std::max(DepartedDevices::kLeast,
                  DepartedDevices::kDeadlinesMissed * entry.timeout.timeout);
}

}  // namespace

void DepartedDevices::Start() {
  look_ = edges_.loop.After(kLookEvery, [this] { Look(); });
}

void DepartedDevices::Look() {
  look_ = edges_.loop.After(kLookEvery, [this] { Look(); });
  const std::vector<DeviceId> departed = Find(edges_.loop.Now());
  for (const DeviceId& id : departed) {
    edges_.log.Info("device has left, it is forgotten", {{"device", ToString(id)}});
    edges_.keeper.Forget(id, "neither its driver nor a slice nor a Pod names it any more");
  }
  if (!departed.empty()) on_forgotten_();
}

std::vector<DeviceId> DepartedDevices::Find(Time now) {
  std::vector<DeviceId> departed;
  std::map<DeviceId, Time> missing;
  for (const auto& [id, entry] : edges_.keeper.cache().entries()) {
    if (entry.health.state != HealthState::kUnknown) continue;
    const std::optional<Duration> patience = PatienceFor(entry, traces_of_(id));
    if (!patience) continue;
    const auto known = missing_since_.find(id);
    const Time since = known == missing_since_.end() ? now : known->second;
    missing[id] = since;
    if (now - since >= *patience) departed.push_back(id);
  }
  missing_since_ = std::move(missing);
  return departed;
}

}  // namespace galen::agent
