// What is special about single kinds: defaults that a schema cannot say, what must hold, what may
// not change. One dispatch for the writer; the rules themselves are pure functions.
#pragma once

#include <string>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// Before a new object is checked; its status is already empty where clients may not set it.
void PrepareNew(const Kind& kind, Json& object, WallTime now);

// Before a changed object is checked, whatever part of it was written.
void PrepareChanged(const Kind& kind, const Json& before, Json& after, WallTime now);

// What must hold of any object of the kind.
Faults CheckObject(const Kind& kind, const Json& object);

// What must hold besides when it is made.
Faults CheckNew(const Kind& kind, const Json& object);

// What may not change from `before` to `after`; `subresource` "" is the object's main part.
Faults CheckChange(const Kind& kind, const Json& before, const Json& after,
                   const std::string& subresource);

// Whether a status write may change labels, annotations and finalizers of this kind as well:
// upstream's strategies differ by kind. Drivers and agents that may write nothing but a Pod's
// status leave their annotations on it this way.
bool StatusWritesMeta(const Kind& kind);

}  // namespace galen::api_sim
