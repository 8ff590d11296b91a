// The code of a C++ source file: the statements and conditions in the bodies of its functions, as
// far as they can be known from tokens in a file that clang-format has laid out. What stands
// outside of bodies (declarations, constants, tables) is not code here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/mutate/cpp_tokens.h"

namespace galen::mutate {

// Tokens from `first` to before `last`.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};

// One that ends with a semicolon, which is its last token.
struct Statement {
  Range range;
  bool declares = false;   // names something that later code uses
  bool only_exit = false;  // "return …;", "continue;" or "break;"
  // Its place among the statements of its block, and which block: neighbours differ by one.
  std::size_t block = 0;
  std::size_t place = 0;
};

// What decides: between the brackets of if and while, between the semicolons of for.
struct Condition {
  Range range;
  bool declares = false;  // "if (const auto x = …)"
};

// An if without else whose whole body is one exit: "if (x) return;", with braces or without.
struct EarlyExit {
  Range range;
};

// A source and what was found in it. Not copied: tokens look into the text.
class Code {
 public:
  explicit Code(std::string source);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  const std::string& source() const { return source_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  // The index of the bracket that closes `token`; `token` when it is no open bracket.
  std::size_t Partner(std::size_t token) const { return partners_[token]; }
  // In the order of their places; a lambda's statements come besides the one that it stands in.
  const std::vector<Statement>& statements() const { return statements_; }
  const std::vector<Condition>& conditions() const { return conditions_; }
  const std::vector<EarlyExit>& early_exits() const { return early_exits_; }
  // Whether the token stands in a function's body.
  bool InBody(std::size_t token) const { return in_body_[token]; }
  // What the tokens of a range are in the source, with what stands between them.
  std::string_view Text(Range range) const;

 private:
  friend class CodeReader;
  std::string source_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> partners_;
  std::vector<bool> in_body_;
  std::vector<Statement> statements_;
  std::vector<Condition> conditions_;
  std::vector<EarlyExit> early_exits_;
};

}  // namespace galen::mutate
