// CustomResourceDefinitions: their own checks and status, and the kinds that follow from them. No
// conversion between versions: an object is shown in the version asked for, fields as stored. Pure
// functions.
#pragma once

#include <vector>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// Fills in names and conversion, and the status with the accepted names. A definition is
// established as soon as it is written: names never conflict here, since the last writer of a
// plural wins. Idempotent, so it runs on every write.
void PrepareDefinition(Json& definition, WallTime now);
// Checks group, plural, kind, scope, a name of "PLURAL.GROUP", a structural schema for each
// version, patterns that compile, and exactly one stored version. REQUIRES: it was prepared.
Faults CheckDefinition(const Json& definition);

// One kind for each served version, in their order. REQUIRES: an accepted definition.
std::vector<Kind> KindsOf(const Json& definition);

}  // namespace galen::api_sim
