// Who owns which field of an object: metadata.managedFields, kept on every write, and server-side
// apply on top of it (KEP-555). A field is owned by managers; one that applies another value than
// its owners' conflicts with them. Pure functions over values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// ---- Objects under their schema, as server-side apply sees them (structured-merge-diff): which
// fields there are, which differ, and how one is merged into the other: lists by their keys, atomic
// parts as one. What the schema does not describe merges by its members, and its lists as one. Pure
// functions.

// A set of fields, as metadata.managedFields writes it down (FieldsV1). A step of a path is
// "f:NAME", "k:{…}" (a list item by its keys as compact JSON) or "v:…" (an item of a set by its
// value).
struct FieldSet {
  bool member = false;  // this very field, not only some below it
  // By step. No child is empty: whoever takes the last member out of one removes it.
  std::map<std::string, FieldSet> children;

  bool empty() const { return !member && children.empty(); }
  bool operator==(const FieldSet&) const = default;
};

// In any of both; in `a` and not in `b`; in both.
FieldSet Union(FieldSet a, const FieldSet& b);
FieldSet Difference(FieldSet a, const FieldSet& b);
FieldSet Intersection(const FieldSet& a, const FieldSet& b);

// To and from the JSON of managedFields: a member is an empty object, or holds "." when it has
// children too. What is no step is left out when reading.
Json ToFieldsV1(const FieldSet& set);
FieldSet FromFieldsV1(const Json& fields);

// Each member as people read it: ".spec.containers[name=\"main\"].image".
std::vector<std::string> FieldPaths(const FieldSet& set);

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
