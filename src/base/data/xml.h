// Text as XML 1.0 holds it.
#pragma once

#include <string>
#include <string_view>

namespace galen {

// `text` for an attribute or between tags: markup is escaped, and what XML has no way to write
// (control characters, broken UTF-8) is made printable first.
std::string EscapeXml(std::string_view text);

}  // namespace galen
