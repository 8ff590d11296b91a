// A CEL expression's text as tokens, by the grammar of cel-spec (doc/langdef.md). Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::alloc::cel {

// Both from 1; the column counts code points.
struct Position {
  int line = 1;
  int column = 1;
};
// "2:14".
std::string ToString(Position position);

// A piece of the text that the grammar takes as a whole.
struct Token {
  enum class Kind { kEnd, kName, kQuotedName, kInt, kUint, kDouble, kString, kBytes, kSymbol };
  Kind kind = Kind::kEnd;
  Position position = {};
  // As written, and of strings, bytes and quoted names what they mean.
  std::string text = {};
};

// Ends with a kEnd. InvalidArgument, with line and column, for what is no token: an unfinished
// string, an unknown escape, a character that CEL does not have. `true`, `false`, `null` and `in`
// are names here.
StatusOr<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace galen::alloc::cel
