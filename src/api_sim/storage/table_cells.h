// The cells of `kubectl get` that are more than a field of the object. Pure functions.
#pragma once

#include <string>

#include "api_sim/objects/kinds.h"
#include "base/time.h"

namespace galen::api_sim {

// The cell of a built-in kind's column that has no path, as kubectl's own printers (pkg/printers)
// would make it. `column` is one of kind.columns by name.
Json MadeCell(const Kind& kind, const std::string& column, const Json& object, WallTime now);

}  // namespace galen::api_sim
