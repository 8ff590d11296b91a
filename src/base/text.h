// Text from elsewhere, made safe to keep and to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galen {

// Valid UTF-8: each broken byte becomes U+FFFD.
std::string ToValidUtf8(std::string_view text);

// At most `bytes_max` bytes, never cutting inside a code point; what was cut is marked by "...".
std::string CutText(std::string_view text, std::size_t bytes_max);

// For a terminal or a log line: control characters (escape sequences, newlines) become U+FFFD.
std::string Printable(std::string_view text);

// Kubernetes' names: a DNS label (63) and a DNS subdomain (253), RFC 1123.
bool IsDnsLabel(std::string_view text);
bool IsDnsSubdomain(std::string_view text);

}  // namespace galen
