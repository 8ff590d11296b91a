// Prepares a checked expression for evaluation: reads of the device become one look-up each, calls
// of constants their results, regular expressions programs, names of macros places. Then what it
// reads is known. Pure; any thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/program.h"
#include "alloc/cel/values/arena.h"
#include "base/status.h"

namespace galen::alloc::cel {

// What an evaluation needs beside the expression.
struct Plan {
  Reads reads = {};
  // How many variables of macros are in use at once.
  int slots = 0;
};
// Constants live in the arena. InvalidArgument for what upstream finds out when it builds the
// program: a constant that does not convert, a regular expression that is none.
StatusOr<Plan> MakePlan(ExpressionPointer& expression, Arena& constants);

}  // namespace galen::alloc::cel
