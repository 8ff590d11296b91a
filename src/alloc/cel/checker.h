// Which expressions Kubernetes' environment compiles: names that are declared, functions with
// overloads for their arguments, lists and maps of one type. Infers the type of each expression by
// unification, as cel-go's checker does, and leaves the types and the possible overloads in the
// tree. Pure; any thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/library/type.h"
#include "alloc/cel/program.h"
#include "base/status.h"

namespace galen::alloc::cel {

// Types live in the pool. InvalidArgument, with line and column, for what upstream refuses;
// Unimplemented, with the name, for a function or a message that this program does not have.
Status Check(Expression& expression, Environment environment, TypePool& pool);

// The same, and that the result is one of a selector: bool, or of a type that only the evaluation
// shows.
Status CheckSelector(Expression& expression, Environment environment, TypePool& pool);

}  // namespace galen::alloc::cel
