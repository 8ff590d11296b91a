// Rules of single kinds beyond their schemas: defaults, validity, immutable fields. One dispatch
// for the writer; the rules themselves are pure functions.
#pragma once

#include <string>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// Sets the fields that the server sets in a new object. Called before its checks; the status is
// already empty where clients may not set it.
void PrepareNew(const Kind& kind, Json& object, WallTime now);

// The same for a changed object, whichever part was written.
void PrepareChanged(const Kind& kind, const Json& before, Json& after, WallTime now);

// Rules for every object of the kind, new or changed.
Faults CheckObject(const Kind& kind, const Json& object);

// Rules that apply only when an object is created, in addition to CheckObject.
Faults CheckNew(const Kind& kind, const Json& object);

// Fields that must not change from `before` to `after`. `subresource` is the part that was written:
// "" for the object itself, "status" and so on.
Faults CheckChange(const Kind& kind, const Json& before, const Json& after,
                   const std::string& subresource);

// Whether a status write may change labels, annotations and finalizers of this kind as well:
// upstream's strategies differ by kind. Drivers and agents that may write nothing but a Pod's
// status leave their annotations on it this way.
bool StatusWritesMeta(const Kind& kind);

}  // namespace galen::api_sim
