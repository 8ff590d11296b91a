// Who owns which field of an object: metadata.managedFields, kept on every write, and server-side
// apply on top of it. Pure functions over values.
#pragma once

#include <string>

#include "base/json.h"
#include "base/time.h"
#include "cluster_sim/kinds.h"

namespace galen::cluster_sim {

struct ApplyRequest {
  const Kind& kind;
  std::string manager;
  std::string subresource;
  bool force = false;
  WallTime now;
};

// What `live` (an empty object: none yet) becomes when the manager applies `applied`: its fields
// are set, those it applied before and no longer names are removed unless others own them too.
// 409 with a cause for each field that somebody else owns with another value, unless forced.
Outcome<Json> ApplyConfiguration(const ApplyRequest& request, const Json& live,
                                 const Json& applied);

// Gives the fields in which `after` differs from `before` to the manager, and takes them from all
// others.
void TrackUpdate(const Kind& kind, const std::string& manager, const std::string& subresource,
                 WallTime now, const Json& before, Json& after);

// Equal but for the times.
bool IsSameOwnership(const Json& a, const Json& b);

}  // namespace galen::cluster_sim
