// Types that are known before an expression is looked at: of constants, and of the device's fields.
// Pure; any thread.
#pragma once

#include <string_view>

#include "alloc/cel/library/type.h"
#include "alloc/cel/program.h"
#include "alloc/cel/values/value.h"

namespace galen::alloc::cel {

// REQUIRES: a literal's value.
const Type* TypeOfConstant(const Value& value);

// dyn, or any up to Kubernetes 1.36, where no attribute is a list for the checker (KEP-5491).
TypeKind KindOfAttributes(Environment environment);
// Null for a field that a device does not have.
const Type* TypeOfDeviceField(std::string_view field, Environment environment, TypePool& pool);

}  // namespace galen::alloc::cel
