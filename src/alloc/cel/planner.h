// Prepares a checked expression for evaluation. A read of the device becomes one look-up, a call
// whose arguments are constants becomes its result, a regular expression is compiled, and each
// variable of a macro gets a slot. This also shows what the expression reads. Pure; any thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/program.h"
#include "alloc/cel/values/arena.h"
#include "base/status.h"

namespace galen::alloc::cel {

// What an evaluation needs beside the expression.
struct Plan {
  Reads reads = {};
  // How many slots the variables of its macros need: the most that exist at one time.
  int slots = 0;
};
// Constants live in the arena. InvalidArgument for what upstream finds out when it builds the
// program: a constant that does not convert, a regular expression that is none.
StatusOr<Plan> MakePlan(ExpressionPointer& expression, Arena& constants);

}  // namespace galen::alloc::cel
