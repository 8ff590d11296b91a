// The end of checking: lists and maps are of one type, where dyn counts as a type of its own. Pure;
// any thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/library/type.h"
#include "base/status.h"

namespace galen::alloc::cel {

// Puts what is known by now into all types, dyn where nothing is. REQUIRES: a tree that was checked
// with the unifier. InvalidArgument, with line and column, for a list or map of several types.
Status Finish(Expression& expression, Unifier& unifier);

}  // namespace galen::alloc::cel
