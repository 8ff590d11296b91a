// How long a device's last report holds: what the operator configured, else what the driver asked
// for, else Kubernetes' default. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/device.h"

namespace galen::agent {

// Who decided a timeout, the weakest first.
enum class TimeoutSource { kDefault, kDriver, kConfig };
std::string_view ToString(TimeoutSource source);  // "default", "driver", "config"

// An operator's rule for some devices; an empty part stands for all.
// Without any part it is a rule for every device.
struct TimeoutRule {
  std::string driver;
  std::string pool;
  std::string device;
  Duration timeout{};

  bool operator==(const TimeoutRule&) const = default;
};

// The timeout that holds for one device, and who decided it. Positive.
struct EffectiveTimeout {
  Duration timeout{};
  TimeoutSource source = TimeoutSource::kDefault;
  // For kConfig: which of the operator's rules decided, by the most particular part that it names:
  // "device gpu-3", "pool node-1", "driver gpu.example.com"; "" for the rule of every device.
  std::string rule = {};

  bool operator==(const EffectiveTimeout&) const = default;
};

// Longer than any driver needs between two reports; silence must end some day.
inline constexpr Duration kTimeoutMax = std::chrono::hours(24);
// Below it a loaded node alone would make devices Unknown.
inline constexpr Duration kTimeoutLeast = std::chrono::milliseconds(100);

// A rule may name driver, pool and device. Among the rules that fit a device the one that names
// most of the three decides, and the last one where several name as many. A driver's wish is
// clamped to kTimeoutLeast and kTimeoutMax; an operator's rule was checked when the configuration
// was read.
EffectiveTimeout TimeoutOf(const std::vector<TimeoutRule>& rules, const DeviceId& device,
                           std::optional<Duration> asked_by_driver);

}  // namespace galen::agent
