// What a plain word of YAML means. Shared by our reader and writer, so that what one writes the
// other reads as the same value.
#pragma once

#include <string_view>

#include "base/json.h"

namespace galen {

// By the core schema of YAML 1.2: null, a bool, a number or a string.
Json ResolvePlain(std::string_view text);

// Whether `text` must be quoted to stay a string, for readers of YAML 1.1 (kubectl's) too: to them
// "yes" is a bool, "1:30" a number and "2026-11-21" a time.
bool NeedsQuotes(std::string_view text);

}  // namespace galen
