// Parts of a device as CEL's values. Texts and quantities are the device's own, maps and lists are
// made in the arena. Pure; the arena's thread.
#pragma once

#include <string_view>

#include "alloc/cel/expression.h"
#include "alloc/cel/values/arena.h"
#include "alloc/device_facts.h"

namespace galen::alloc::cel {

// REQUIRES: not a kind that is unknown.
Value ValueOf(const AttributeValue& attribute, Arena& arena);

// The part that a kRead names: a value, or an error when the device does not have it.
Value ReadPart(const Expression& read, const DeviceFacts& device, Arena& arena);
// Whether the device has it. Domains are always there: reading one that is not yields an empty map.
bool HasPart(const Expression& read, const DeviceFacts& device);

}  // namespace galen::alloc::cel
