// Objects under their schema, as server-side apply sees them (structured-merge-diff): which fields
// there are, which differ, and how one is merged into the other: lists by their keys, atomic parts
// as one. What the schema does not describe merges by its members, and its lists as one. Pure
// functions.
#pragma once

#include <string>

#include "api_sim/patch/field_set.h"
#include "base/data/json.h"

namespace galen::api_sim {

// Everything that `value` says: its leaves, its list items, and its empty objects and lists.
FieldSet FieldsOf(const Json& schema, const Json& value);

// How one object differs from another. A value that became another one is changed; one whose shape
// changed is in both.
struct Delta {
  FieldSet changed;  // new, or with another value
  FieldSet removed;
};
// What it takes to come from `before` to `after`.
Delta Compare(const Json& schema, const Json& before, const Json& after);

// `live` with everything that `applied` says; nothing is taken away. Items that are new go to the
// end of their list.
Json MergeTyped(const Json& schema, const Json& live, const Json& applied);

// Takes the fields of `gone` out of `value`, and what becomes empty by that, but nothing that
// `kept` holds. Both sets are of the shape that FieldsOf() gives.
void RemoveFields(const Json& schema, const FieldSet& gone, const FieldSet& kept, Json& value);

}  // namespace galen::api_sim
