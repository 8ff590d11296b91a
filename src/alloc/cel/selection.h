// Fields of maps and elements of lists by a key, as a.b and a[b] and a.?b select them. Pure; the
// arena's thread.
#pragma once

#include "alloc/cel/values/arena.h"

namespace galen::alloc::cel {

// The value, or an error: a key or an index that there is not, an operand that has none. With
// `optional`, or from an optional operand: an optional, none where there is no such key.
Value Selected(const Value& operand, const Value& key, bool optional, Arena& arena);

// has(operand.key), a bool; errors only those of the operand.
Value HasKey(const Value& operand, const Value& key, Arena& arena);

}  // namespace galen::alloc::cel
