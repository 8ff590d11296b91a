// JSONPath as printer columns use it: ".spec.a", ".metadata.labels['a\.b']", ".list[0].x",
// ".list[-1]", ".list[*].x", ".conditions[?(@.type==\"Ready\")].status". Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "base/data/json.h"

namespace galen::api_sim {

// What the path leads to, in order; empty when nothing does, or when the path makes no sense.
// Braces around the whole ("{.a}") are taken off. No recursive descent, slices or unions: printer
// columns may not use them. A ']' inside a subscript ends it, even in quotes.
std::vector<Json> EvaluateJsonPath(std::string_view path, const Json& value);

}  // namespace galen::api_sim
