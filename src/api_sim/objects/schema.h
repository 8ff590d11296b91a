// Structural schemas as CustomResourceDefinitions have them (OpenAPI v3 with Kubernetes' extensions
// x-kubernetes-*), applied to objects; built-in kinds have such schemas too. CEL rules
// (x-kubernetes-validations) and allOf/anyOf/not are not evaluated. Pure functions over values.
#pragma once

#include <string>
#include <vector>

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"

namespace galen::api_sim {

// Fills in the defaults of absent fields, inside present objects only: an absent object is not
// created for its members' defaults. A null counts as absent unless the schema allows null.
// Repeating changes nothing.
void ApplyDefaults(const Json& schema, Json& value);

// Drops fields that the schema does not know, and returns their paths, below `path`. A schema with
// x-kubernetes-preserve-unknown-fields keeps them.
std::vector<std::string> Prune(const Json& schema, Json& value, const std::string& path = "");

// Types, required, enum, limits, patterns, points in time, unique sets and map keys. Every fault is
// reported, but nothing below a value of the wrong type. `path` is the path of `value`.
Faults ValidateSchema(const Json& schema, const Json& value, const std::string& path = "");

// What identifies an item of a set or map list, or null for other lists: the item itself, or an
// object of its keys. A key that an item lacks counts with its default, so that a port without
// protocol is the TCP one.
Json ListItemIdentity(const Json& list_schema, const Json& item);

// Takes null members out of objects at any depth; null items of lists stay. Go's decoder reads null
// as absent, for the built-in kinds everywhere.
void DropNulls(Json& value);

// Takes empty lists, and empty maps of data such as labels, out of an object of a built-in kind:
// Go's encoder does not write them (omitempty), so clients never read them back. Empty structures
// such as a selector stay, since they have a meaning; parts that the schema leaves open are not
// examined.
void DropEmpty(const Json& schema, Json& value);

// A path one deeper: "spec" + "a" → "spec.a"; list items are "spec[3]".
std::string Under(const std::string& path, std::string_view member);

}  // namespace galen::api_sim
