// Names with dots in them, of types and functions: google.protobuf.Timestamp, optional.of. Pure;
// any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "alloc/cel/expression.h"
#include "alloc/cel/library/type.h"

namespace galen::alloc::cel {

// "a.b.c" for selections of names; nullopt for anything else.
std::optional<std::string> QualifiedNameOf(const Expression& expression);
// The same for a call: "optional.of" for optional.of(x).
std::optional<std::string> QualifiedFunctionOf(const Expression& call);

// The type that an expression may name.
std::optional<TypeKind> TypeNamed(std::string_view name);

}  // namespace galen::alloc::cel
