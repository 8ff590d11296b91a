#include "cli/output/tone.h"

#include <fmt/core.h>

#include "base/check.h"

namespace galen::cli {

Tone ToneOf(HealthState state) {
  switch (state) {
    case HealthState::kHealthy:
      return Tone::kGood;
    case HealthState::kUnknown:
      return Tone::kFaint;
    case HealthState::kDegraded:
      return Tone::kWarning;
    case HealthState::kUnhealthy:
      return Tone::kBad;
  }
  GALEN_UNREACHABLE();
}

std::string StateText(const DeviceHealth& health) {
  // A share of 1 is the default, not a measured value.
  if (health.state != HealthState::kDegraded || health.share >= 1) {
    return std::string(ToString(health.state));
  }
  return fmt::format("{} {:.2f}", ToString(health.state), health.share);
}

std::string AgeText(std::optional<WallTime> since, WallTime now) {
  // A device's finding always has a time: for one that was never reported it is zero.
  if (!since || since == WallTime{}) return "";
  return now == WallTime{} ? FormatRfc3339(*since, 3) : FormatAge(now - *since);
}

}  // namespace galen::cli
