// What the scheduler learns of a device's health: taints, attributes, or that it is offered at all.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "driver/driver_config.h"
#include "galen/driver.h"
#include "model/health.h"

namespace galen::device_driver {

// How a device is, as a text: "Healthy", "Degraded", "Unhealthy" or "Unknown".
inline constexpr std::string_view kHealthAttribute = "galen.dev/health";
// What is lost of a device's capability, in per cent: 0 of Healthy and Unknown ones (Unknown is
// never taken for bad), 1 to 99 of Degraded, 100 of Unhealthy ones. Every device has it, since a
// CEL expression that asks for an attribute that is not there selects nothing.
inline constexpr std::string_view kDegradedAttribute = "galen.dev/degraded";

// What is made of health in the ResourceSlices; nothing unless asked for.
struct OfferPolicy {
  std::string driver = {};  // taints are named below it
  std::optional<Taint::Effect> taint_unhealthy = {};
  std::optional<Taint::Effect> taint_degraded = {};
  Device::Offered unhealthy = Device::Offered::kAlways;
  bool attributes = false;

  // Whether health changes what is published at all.
  bool any() const {
    return taint_unhealthy || taint_degraded || unhealthy != Device::Offered::kAlways || attributes;
  }
};

// REQUIRES: Validate(config) is OK.
OfferPolicy OfferPolicyOf(const DriverConfig& config);

// `devices` as they are to be published while their health is that of `verdicts`, by name; one that
// is not there is Unknown. Pure.
Inventory OfferedWith(const OfferPolicy& policy, Inventory devices,
                      const std::map<std::string, DeviceHealth>& verdicts);

}  // namespace galen::device_driver
