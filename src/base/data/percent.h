// Percent-encoding as URLs (RFC 3986), forms and gRPC's texts use it. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace galen {

// The meaning of a "+": itself in a path, a space in a query (WHATWG's form encoding).
enum class Plus { kIsPlus, kIsSpace };

// "%41" → "A"; a "%" that starts nothing stays. Any byte may come out, so the text need not be
// valid UTF-8.
std::string PercentDecode(std::string_view text, Plus plus = Plus::kIsPlus);

}  // namespace galen
