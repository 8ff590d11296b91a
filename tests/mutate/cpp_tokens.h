// A C++ source file as tokens: what the compiler would read of it, with comments and preprocessor
// lines left out and each text, character and raw text as one piece. Knows no macros and no types.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace galen::mutate {

struct Token {
  enum class Kind { kWord, kNumber, kText, kSign };
  Kind kind = Kind::kSign;
  std::string_view text;  // of the source, which must outlive it
  std::size_t begin = 0;  // its place in the source, in bytes

  std::size_t end() const { return begin + text.size(); }
  bool Is(std::string_view sign) const { return kind != Kind::kText && text == sign; }
  bool IsWord() const { return kind == Kind::kWord; }
};

// The tokens of `source` in their order. What is no C++, such as a text without an end, gives fewer
// tokens and never an error: a file that does not compile is not asked for.
std::vector<Token> TokensOf(std::string_view source);

// For each token that opens a bracket of (), [] or {}: the index of the one that closes it; for
// each other token, and for a bracket that nobody closes, its own index.
std::vector<std::size_t> PartnersOf(const std::vector<Token>& tokens);

}  // namespace galen::mutate
