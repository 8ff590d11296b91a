// Structural schemas as CustomResourceDefinitions have them (OpenAPI v3 with Kubernetes'
// extensions), applied to objects. Pure functions over values.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cluster_sim/refusal.h"

namespace galen::cluster_sim {

// Fills in the defaults of absent fields, inside what is there.
void ApplyDefaults(const Json& schema, Json& value);

// Drops the fields that the schema does not know, and gives their paths.
std::vector<std::string> Prune(const Json& schema, Json& value, const std::string& path = "");

// Types, required, enum, limits, patterns, unique sets and map keys.
Faults ValidateSchema(const Json& schema, const Json& value, const std::string& path = "");

// What tells the items of a set or map list apart, or null for other lists: the item itself, or its
// keys. A key that an item lacks counts with its default.
Json ListItemIdentity(const Json& list_schema, const Json& item);

// Go's decoder reads null as absent, for the built-in kinds everywhere.
void DropNulls(Json& value);

// A path one deeper: "spec" + "a" → "spec.a"; list items are "spec[3]".
std::string Under(const std::string& path, std::string_view member);

}  // namespace galen::cluster_sim
