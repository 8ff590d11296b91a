// How a state is written and coloured, the same in every command.
#pragma once

#include <optional>
#include <string>

#include "cli/output/table.h"
#include "model/health.h"

namespace galen::cli {

Tone ToneOf(HealthState state);

// "Healthy", or "Degraded 0.50" with the share of its work that the device still does.
std::string StateText(const DeviceHealth& health);

// "38s" before `now`; "" when the time is not known, the time itself when `now` is not given.
std::string AgeText(std::optional<WallTime> since, WallTime now);

}  // namespace galen::cli
