#include "agent/health/timeout_policy.h"

#include <algorithm>

#include "base/check.h"
#include "model/health.h"

namespace galen::agent {
namespace {

bool Fits(const std::string& rule, const std::string& name) { return rule.empty() || rule == name; }

bool Fits(const TimeoutRule& rule, const DeviceId& id) {
  return Fits(rule.driver, id.driver) && Fits(rule.pool, id.pool) && Fits(rule.device, id.device);
}

// As with routes and selectors, the more specific rule wins.
int PartsNamed(const TimeoutRule& rule) {
  return !rule.driver.empty() + !rule.pool.empty() + !rule.device.empty();
}

std::string NameOf(const TimeoutRule& rule) {
  if (!rule.device.empty()) return "device " + rule.device;
  if (!rule.pool.empty()) return "pool " + rule.pool;
  return rule.driver.empty() ? "" : "driver " + rule.driver;
}

}  // namespace

std::string_view ToString(TimeoutSource source) {
  switch (source) {
    case TimeoutSource::kDefault:
      return "default";
    case TimeoutSource::kDriver:
      return "driver";
    case TimeoutSource::kConfig:
      return "config";
  }
  GALEN_UNREACHABLE();
}

EffectiveTimeout TimeoutOf(const std::vector<TimeoutRule>& rules, const DeviceId& device,
                           std::optional<Duration> asked_by_driver) {
  const TimeoutRule* best = nullptr;
  for (const TimeoutRule& rule : rules) {
    if (!Fits(rule, device)) continue;
    if (best == nullptr || PartsNamed(rule) >= PartsNamed(*best)) best = &rule;
  }
  if (best != nullptr) return {best->timeout, TimeoutSource::kConfig, NameOf(*best)};
  if (!asked_by_driver) return {kHealthTimeoutDefault, TimeoutSource::kDefault, ""};
  return {std::clamp(*asked_by_driver, kTimeoutLeast, kTimeoutMax), TimeoutSource::kDriver, ""};
}

}  // namespace galen::agent
