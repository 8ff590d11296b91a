// The meaning of YAML's plain scalars. Shared by our reader and writer, so that what one writes the
// other reads as the same value. Pure functions, internal to this room's YAML.
#pragma once

#include <string_view>

#include "base/data/json.h"

namespace galen {

// By the core schema of YAML 1.2 (section 10.3.2): null, a bool, a number or a string. The empty
// scalar is null. Decimal numbers too large for int64 are doubles; what no double can hold is a
// string.
Json ResolvePlain(std::string_view text);

// Whether `text` must be quoted to stay a string, for readers of YAML 1.1 (kubectl's) too: to them
// "yes" is a bool, "1:30" a number and "2026-11-21" a time. Errs on the side of quotes. What the
// syntax alone asks for (a colon, a leading dash) is the emitter's to see.
bool NeedsQuotes(std::string_view text);

}  // namespace galen
