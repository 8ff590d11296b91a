// Evaluates a planned expression for one device. Errors are values: && and || and ?: take them or
// leave them, everything else hands them on. Belongs to one thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/values/arena.h"
#include "alloc/device_facts.h"

namespace galen::alloc::cel {

// The result, an error included. The arena says what it cost, and whether it went over a bound that
// no && and || absorbs. `slots` is the plan's.
Value Evaluate(const Expression& expression, const DeviceFacts& device, int slots, Arena& arena);

// The same, of an expression that reads neither a device nor a variable.
Value EvaluateConstant(const Expression& expression, Arena& arena);

}  // namespace galen::alloc::cel
