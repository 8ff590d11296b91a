// Who owns which field of an object: metadata.managedFields, kept on every write, and server-side
// apply on top of it (KEP-555). A field is owned by managers; one that applies another value than
// its owners' conflicts with them. Pure functions over values.
#pragma once

#include <string>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// Who applies, to which part of the object and how.
struct ApplyRequest {
  const Kind& kind;
  // The name given as ?fieldManager=; not "".
  std::string manager;
  // "" or "status". The same manager on another subresource is another owner.
  std::string subresource;
  // Takes contested fields from their owners instead of giving up.
  bool force = false;
  WallTime now;
};

// What `live` (an empty object: none yet) becomes when the manager applies `applied`: its fields
// are set, those it applied before and no longer names are removed unless others own them too.
// Carries the new managedFields. 409 with a cause for each field that somebody else owns with
// another value, unless forced; 400 when `applied` carries managedFields. Applying the same again
// changes nothing, not even a time.
Outcome<Json> ApplyConfiguration(const ApplyRequest& request, const Json& live,
                                 const Json& applied);

// Gives the fields in which `after` differs from `before` to the manager (operation Update), and
// takes them from all others. Writes after.metadata.managedFields on top of those of `before`; an
// `after` that differs in nothing gets them as they were.
void TrackUpdate(const Kind& kind, const std::string& manager, const std::string& subresource,
                 WallTime now, const Json& before, Json& after);

// Whether two lists of managedFields are equal but for the times: apply without effect writes
// nothing.
bool IsSameOwnership(const Json& a, const Json& b);

}  // namespace galen::api_sim
