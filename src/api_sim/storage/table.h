// What `kubectl get` prints: a meta.k8s.io/v1 Table with the columns of a kind. Pure functions.
#pragma once

#include <vector>

#include "api_sim/objects/kinds.h"
#include "base/time.h"

namespace galen::api_sim {

// The kind's columns as columnDefinitions, in their order.
Json TableColumns(const Kind& kind);

// One cell for each column of the kind, null where there is nothing to show. `now` gives ages.
Json TableCells(const Kind& kind, const Json& object, WallTime now);

}  // namespace galen::api_sim
