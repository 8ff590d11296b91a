// Which states count as a fault of a device.
#pragma once

#include "model/health.h"

namespace galen {

// Degraded and Unhealthy are faults. Unknown says that nobody knows, and is not.
constexpr bool IsFault(HealthState state) { return state > HealthState::kUnknown; }

}  // namespace galen
