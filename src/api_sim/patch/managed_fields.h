// Who owns which field of an object: metadata.managedFields, kept on every write, and server-side
// apply on top of it (KEP-555). A field is owned by managers; applying a value that differs from
// its owners' is a conflict. Pure functions over values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api_sim/objects/kinds.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// ---- Objects under their schema, as server-side apply treats them (structured-merge-diff): which
// fields exist, which differ, and how one is merged into the other: lists by their keys, atomic
// parts as a whole. Parts without a schema merge by their members, and their lists as a whole. Pure
// functions.

// A set of fields, as metadata.managedFields writes it down (FieldsV1). A step of a path is
// "f:NAME", "k:{…}" (a list item by its keys as compact JSON) or "v:…" (an item of a set by its
// value).
struct FieldSet {
  bool member = false;  // this field itself, not only some below it
  // By step. No child is empty: a set that loses its last member is removed.
  std::map<std::string, FieldSet> children;

  bool empty() const { return !member && children.empty(); }
  bool operator==(const FieldSet&) const = default;
};

// In either; in `a` but not in `b`; in both.
FieldSet Union(FieldSet a, const FieldSet& b);
FieldSet Difference(FieldSet a, const FieldSet& b);
FieldSet Intersection(const FieldSet& a, const FieldSet& b);

// To and from the JSON of managedFields: a member is an empty object, or holds "." when it has
// children too. Other keys are ignored when reading.
Json ToFieldsV1(const FieldSet& set);
FieldSet FromFieldsV1(const Json& fields);

// Each member as people read it: ".spec.containers[name=\"main\"].image".
std::vector<std::string> FieldPaths(const FieldSet& set);

// Every field in `value`: its leaves, its list items, and its empty objects and lists.
FieldSet FieldsOf(const Json& schema, const Json& value);

// How one object differs from another. A replaced value is in `changed`; one whose shape changed is
// in both sets.
struct Delta {
  FieldSet changed;  // new, or with another value
  FieldSet removed;
};
// The difference from `before` to `after`.
Delta Compare(const Json& schema, const Json& before, const Json& after);

// `live` with every field of `applied`; nothing is removed. New items go to the end of their list.
Json MergeTyped(const Json& schema, const Json& live, const Json& applied);

// Removes the fields of `gone` from `value`, and objects that become empty, but nothing in `kept`.
// Both sets have the form of FieldsOf().
void RemoveFields(const Json& schema, const FieldSet& gone, const FieldSet& kept, Json& value);

// The applying manager, the part of the object, and the mode.
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

// The result of applying `applied` to `live` (an empty object: none yet): its fields are set, and
// those that the manager applied before and no longer names are removed unless others own them too.
// Includes the new managedFields. 409 with a cause for each field that somebody else owns with
// another value, unless forced; 400 when `applied` carries managedFields. Applying the same again
// changes nothing, not even a time.
Outcome<Json> ApplyConfiguration(const ApplyRequest& request, const Json& live,
                                 const Json& applied);

// Makes the manager (operation Update) the only owner of the fields in which `after` differs from
// `before`. Sets after.metadata.managedFields from those of `before`; without differences they stay
// the same.
void TrackUpdate(const Kind& kind, const std::string& manager, const std::string& subresource,
                 WallTime now, const Json& before, Json& after);

// Whether two lists of managedFields are equal apart from times: an apply without effect writes
// nothing.
bool IsSameOwnership(const Json& a, const Json& b);

}  // namespace galen::api_sim
