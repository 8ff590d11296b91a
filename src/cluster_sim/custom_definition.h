// CustomResourceDefinitions: their own checks and status, and the kinds that follow from them.
// Pure functions.
#pragma once

#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "cluster_sim/kinds.h"

namespace galen::cluster_sim {

// Fills in names and conversion, and the status that says what is accepted. A definition is
// established in the moment it is written.
void PrepareDefinition(Json& definition, WallTime now);
Faults CheckDefinition(const Json& definition);

// One kind for each served version. REQUIRES: an accepted definition.
std::vector<Kind> KindsOf(const Json& definition);

}  // namespace galen::cluster_sim
