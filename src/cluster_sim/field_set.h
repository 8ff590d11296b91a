// A set of fields of an object, as metadata.managedFields writes it down (FieldsV1). A step of a
// path is "f:NAME", "k:{…}" (a list item by its keys) or "v:…" (an item of a set). Values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace galen::cluster_sim {

struct FieldSet {
  bool member = false;  // this very field, not only some below it
  std::map<std::string, FieldSet> children;

  bool empty() const { return !member && children.empty(); }
  bool operator==(const FieldSet&) const = default;
};

FieldSet Union(FieldSet a, const FieldSet& b);
FieldSet Difference(FieldSet a, const FieldSet& b);
FieldSet Intersection(const FieldSet& a, const FieldSet& b);

Json ToFieldsV1(const FieldSet& set);
FieldSet FromFieldsV1(const Json& fields);

// Each member as people read it: ".spec.containers[name=\"main\"].image".
std::vector<std::string> FieldPaths(const FieldSet& set);

}  // namespace galen::cluster_sim
