// Which parts of a device an expression reads. Pure; any thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/program.h"

namespace galen::alloc::cel {

// REQUIRES: a planned expression. Names are ordered, each once.
Reads ReadsOf(const Expression& expression);

}  // namespace galen::alloc::cel
