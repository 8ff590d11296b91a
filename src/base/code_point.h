// UTF-8 by its code points, and which of them a terminal obeys. Pure functions over any bytes,
// linear in the text's length. Most callers want base/text.h, which is made of these.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galen {

// One code point read from the front of a text; no bytes when that is not valid UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

// The shortest form only, no surrogates, at most U+10FFFF (RFC 3629). REQUIRES: a text that is not
// empty.
CodePoint ReadCodePoint(std::string_view text);

// Control characters (C0, DEL, and C1, of which U+009B begins an escape sequence), and those that
// reorder or break a line unseen.
bool IsControl(char32_t c);

// Whether a text has a control character from DEL on: one that JSON and YAML let pass as it is.
bool HasHighControl(std::string_view text);

// JSON or YAML `text` with its control characters from DEL on written as \uXXXX, which both read as
// the same character. In a text that has any, broken UTF-8 becomes U+FFFD. REQUIRES: they stand
// within double quotes.
std::string EscapeHighControls(std::string text);

}  // namespace galen
