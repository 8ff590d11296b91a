// A set of fields of an object, as metadata.managedFields writes it down (FieldsV1, the format of
// structured-merge-diff). A step of a path is "f:NAME", "k:{…}" (a list item by its keys as compact
// JSON) or "v:…" (an item of a set by its value). Values and pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/data/json.h"

namespace galen::api_sim {

struct FieldSet {
  // This very field is in the set, not only some below it.
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

}  // namespace galen::api_sim
