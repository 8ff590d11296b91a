// Objects under their schema, as server-side apply sees them: which fields there are, which differ,
// and how one is merged into the other: lists by their keys, atomic parts as one. Pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "cluster_sim/field_set.h"

namespace galen::cluster_sim {

// Everything that `value` says.
FieldSet FieldsOf(const Json& schema, const Json& value);

struct Delta {
  FieldSet changed;  // new, or with another value
  FieldSet removed;
};
Delta Compare(const Json& schema, const Json& before, const Json& after);

// `live` with everything that `applied` says.
Json MergeTyped(const Json& schema, const Json& live, const Json& applied);

// Takes the fields of `gone` out of `value`, and what becomes empty by that, but nothing that
// `kept` holds.
void RemoveFields(const Json& schema, const FieldSet& gone, const FieldSet& kept, Json& value);

}  // namespace galen::cluster_sim
