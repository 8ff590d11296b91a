// From a text to an expression: CEL's grammar (cel-spec, doc/langdef.md) with the syntax of
// optionals, and the macros of Kubernetes' environment. Pure; any thread.
#pragma once

#include <string_view>

#include "alloc/cel/expression.h"
#include "base/status.h"

namespace galen::alloc::cel {

// How deep operators, selections and brackets may be nested; cel-go's own bound.
inline constexpr int kDepthMax = 250;

// InvalidArgument, with line and column: not CEL, a macro whose arguments do not fit it, or too
// deep.
StatusOr<ExpressionPointer> Parse(std::string_view text);

}  // namespace galen::alloc::cel
