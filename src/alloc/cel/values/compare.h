// Equality and order of CEL's values. Numbers compare by value, whatever their kinds. Any other two
// values of different kinds are unequal and have no order. Pure functions; any thread.
#pragma once

#include <optional>

#include "alloc/cel/values/arena.h"
#include "alloc/cel/values/value.h"

namespace galen::alloc::cel {

// Bool, or an error: of a quantity or a version with another kind on its right, as upstream; or of
// values so large that comparing them does not end in reasonable time.
Value Equal(Arena& arena, const Value& left, const Value& right);
// The same for what is neither a list, a map, an optional, a quantity nor a version; false for
// those.
bool AreEqualScalars(const Value& left, const Value& right);

// An int: -1, 0, 1; or an error, for kinds without an order and for NaN.
Value Compare(Arena& arena, const Value& left, const Value& right);

}  // namespace galen::alloc::cel
