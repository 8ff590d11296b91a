// How a state is written and coloured, alike in every command.
#pragma once

#include <optional>
#include <string>

#include "cli/output/table.h"
#include "model/health.h"

namespace galen::cli {

Tone ToneOf(HealthState state);

// "Healthy", or "Degraded 0.50" with the share of its work that the device still does.
std::string StateText(const DeviceHealth& health);

// The age at `now`: "38s"; "" for an unknown time, the time itself without `now`.
std::string AgeText(std::optional<WallTime> since, WallTime now);

}  // namespace galen::cli
