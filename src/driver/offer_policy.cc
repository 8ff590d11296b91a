#include <algorithm>
#include <cmath>
#include <cstdint>

#include "driver/device_driver.h"
#include "sdk/inventory.h"

namespace galen::device_driver {
namespace {

std::optional<Taint::Effect> EffectOf(std::string_view flag) {
  if (flag.empty()) return std::nullopt;
  return flag == "NoExecute" ? Taint::Effect::kNoExecute : Taint::Effect::kNoSchedule;
}

Device::Offered OfferedUnhealthy(std::string_view flag) {
  if (flag == "always") return Device::Offered::kNever;
  if (flag == "without-taints") return Device::Offered::kWhereTaintsCount;
  return Device::Offered::kAlways;
}

std::int64_t LostPercent(const DeviceHealth& health) {
  if (health.state == HealthState::kUnhealthy) return 100;
  if (health.state != HealthState::kDegraded) return 0;
  return std::clamp<std::int64_t>(std::llround((1 - health.share) * 100), 1, 99);
}

Taint TaintOf(const std::string& key, const DeviceHealth& health, Taint::Effect effect) {
  // A code of an operator's own rules may be no label value.
  const std::string& code = health.cause.code;
  return {.key = key, .value = sdk::IsTaintValue(code) ? code : "", .effect = effect};
}

void Apply(const OfferPolicy& policy, const DeviceHealth& health, Device& device) {
  if (policy.attributes) {
    device.attributes[std::string(kHealthAttribute)] = std::string(ToString(health.state));
    device.attributes[std::string(kDegradedAttribute)] = LostPercent(health);
  }
  if (health.state == HealthState::kUnhealthy) {
    device.offered = policy.unhealthy;
    if (policy.taint_unhealthy) {
      device.taints.push_back(
          TaintOf(policy.driver + "/unhealthy", health, *policy.taint_unhealthy));
    }
  }
  if (health.state == HealthState::kDegraded && policy.taint_degraded) {
    device.taints.push_back(TaintOf(policy.driver + "/degraded", health, *policy.taint_degraded));
  }
}

}  // namespace

OfferPolicy OfferPolicyOf(const DriverConfig& config) {
  return {.driver = config.driver.name,
          .taint_unhealthy = EffectOf(config.taint_unhealthy),
          .taint_degraded = EffectOf(config.taint_degraded),
          .unhealthy = OfferedUnhealthy(config.withdraw_unhealthy),
          .attributes = config.health_attributes};
}

Inventory OfferedWith(const OfferPolicy& policy, Inventory devices,
                      const std::map<std::string, DeviceHealth>& verdicts) {
  const DeviceHealth unknown;
  for (Device& device : devices) {
    const auto it = verdicts.find(device.name);
    Apply(policy, it == verdicts.end() ? unknown : it->second, device);
  }
  return devices;
}

}  // namespace galen::device_driver
