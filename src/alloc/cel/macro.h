// Calls that are macros: they name variables, and see their arguments before these are evaluated.
// Pure; any thread.
#pragma once

#include "alloc/cel/expression.h"
#include "base/status.h"

namespace galen::alloc::cel {

// The macro that a kCall is, or the call itself. InvalidArgument, with line and column, when it is
// a macro and its arguments are not a macro's.
StatusOr<ExpressionPointer> ExpandMacro(ExpressionPointer call);

// What both parser and macros make expressions by: sets the depth. InvalidArgument when too deep.
StatusOr<ExpressionPointer> Checked(ExpressionPointer expression);

}  // namespace galen::alloc::cel
