#include "tests/mutate/cpp_code.h"

#include <algorithm>
#include <array>
#include <utility>

namespace galen::mutate {

// Walks from block to block and notes what it meets.
class CodeReader {
 public:
  explicit CodeReader(Code& code) : code_(code), tokens_(code.tokens_) {}

  void Read() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!OpensBody(i)) continue;
      const std::size_t end = code_.Partner(i);
      std::fill(code_.in_body_.begin() + static_cast<std::ptrdiff_t>(i),
                code_.in_body_.begin() + static_cast<std::ptrdiff_t>(end), true);
      ReadBlock(i);
      i = end;
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Block {
    std::size_t number;
    std::size_t next_place = 0;
  };

  bool Is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].Is(text);
  }
  template <typename... Texts>
  bool IsOneOf(std::size_t i, Texts... texts) const {
    return (Is(i, texts) || ...);
  }

  // Whether a brace begins a body, as opposed to a list of values or the inside of a class.
  bool OpensBody(std::size_t i) const {
    if (!Is(i, "{") || i == 0 || code_.Partner(i) == i) return false;
    // After "}" it is a constructor's, whose last member was given a list.
    if (IsOneOf(i - 1, ")", "]", "}", "const", "noexcept", "override", "mutable")) return true;
    return AfterResultType(i);
  }

  // "-> Result {" of a lambda or a function; a list of values never has an arrow before its type.
  bool AfterResultType(std::size_t brace) const {
    std::size_t i = brace;
    while (i > 0 && (tokens_[i - 1].IsWord() || IsOneOf(i - 1, "::", "<", ">", "*", "&", ","))) --i;
    return i > 1 && Is(i - 1, "->") && IsOneOf(i - 2, ")", "mutable", "noexcept");
  }

  void ReadBlock(std::size_t open) {
    Block block{blocks_++};
    const std::size_t close = code_.Partner(open);
    for (std::size_t i = open + 1; i < close;) i = ReadStatement(i, close, block);
  }

  // Gives the token after it.
  std::size_t ReadStatement(std::size_t i, std::size_t end, Block& block) {
    if (Is(i, "{") && code_.Partner(i) != i) {
      ReadBlock(i);
      ++block.next_place;
      return code_.Partner(i) + 1;
    }
    if (IsOneOf(i, "if", "for", "while", "switch")) return ReadControl(i, end, block);
    if (IsOneOf(i, "else", "do", "try")) return ReadBody(i + 1, end, block);
    if (Is(i, "catch")) return ReadBody(code_.Partner(i + 1) + 1, end, block);
    if (IsOneOf(i, "case", "default")) return AfterLabel(i, end);
    return ReadSimple(i, end, block);
  }

  std::size_t AfterLabel(std::size_t i, std::size_t end) const {
    while (i < end && !Is(i, ":")) ++i;
    return i + 1;
  }

  // What an if or a loop governs. It is a block also without braces: its one statement has no
  // neighbour.
  std::size_t ReadBody(std::size_t i, std::size_t end, Block& block) {
    ++block.next_place;
    Block own{blocks_++};
    return ReadStatement(i, end, own);
  }

  std::size_t ReadControl(std::size_t i, std::size_t end, Block& block) {
    const std::size_t begin = i;
    const bool decides = !Is(i, "switch");
    const bool is_if = Is(i, "if");
    i += Is(i + 1, "constexpr") ? 2 : 1;
    const std::size_t open = i;
    const std::size_t close = code_.Partner(open);
    if (!Is(open, "(") || close == open) return open + 1;
    if (decides) NoteCondition(begin, open, close);
    ReadLambdas({open, close});
    const std::size_t after = ReadBody(close + 1, end, block);
    if (is_if && !Is(after, "else") && !IsElsesOwn(begin) && IsExit(close + 1)) {
      code_.early_exits_.push_back({{begin, after}});
    }
    return after;
  }

  bool IsElsesOwn(std::size_t keyword) const { return keyword > 0 && Is(keyword - 1, "else"); }

  // "return …;" or "{ return …; }"
  bool IsExit(std::size_t i) const {
    if (Is(i, "{")) {
      const std::size_t end = EndOfSimple(i + 1, code_.Partner(i));
      return IsOneOf(i + 1, "return", "continue", "break") && end == code_.Partner(i);
    }
    return IsOneOf(i, "return", "continue", "break");
  }

  void NoteCondition(std::size_t keyword, std::size_t open, std::size_t close) {
    std::vector<std::size_t> semicolons;
    for (std::size_t i = open + 1; i < close; i = code_.Partner(i) + 1) {
      if (Is(i, ";")) semicolons.push_back(i);
    }
    Range range{open + 1, close};
    if (Is(keyword, "for")) {
      if (semicolons.size() != 2) return;  // over a range, without a condition
      range = {semicolons[0] + 1, semicolons[1]};
    } else if (!semicolons.empty()) {
      range.first = semicolons.back() + 1;
    }
    if (range.first >= range.last) return;
    code_.conditions_.push_back({range, Declares(range)});
  }

  // After the semicolon, or `end` where there is none.
  std::size_t EndOfSimple(std::size_t i, std::size_t end) const {
    while (i < end && !Is(i, ";")) i = code_.Partner(i) + 1;
    return std::min(i + 1, end);
  }

  std::size_t ReadSimple(std::size_t i, std::size_t end, Block& block) {
    const std::size_t after = EndOfSimple(i, end);
    const Range range{i, after};
    ReadLambdas(range);
    if (after > i + 1 && Is(after - 1, ";")) {
      code_.statements_.push_back({range, Declares(range),
                                   IsOneOf(i, "return", "continue", "break"), block.number,
                                   block.next_place++});
    }
    return after;
  }

  void ReadLambdas(Range range) {
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (!OpensBody(i)) continue;
      ReadBlock(i);
      i = code_.Partner(i);
    }
  }

  // Whether a statement or condition begins with a type and a name. What is taken for a declaration
  // and is none is merely never drawn.
  bool Declares(Range range) const {
    std::size_t i = range.first;
    if (IsOneOf(i, "const", "auto", "static", "constexpr", "using", "struct", "class", "enum",
                "typename", "unsigned", "ASSIGN_OR_RETURN", "static_assert")) {
      return true;
    }
    if (IsOneOf(i, "return", "delete", "throw", "continue", "break", "goto")) return false;
    if (!tokens_[i].IsWord()) return false;
    i = AfterName(i, range.last);
    while (i < range.last && IsOneOf(i, "*", "&", "const")) ++i;
    return i < range.last && tokens_[i].IsWord();
  }

  // Past "a::b<c>::d".
  std::size_t AfterName(std::size_t i, std::size_t end) const {
    while (i < end) {
      ++i;
      if (Is(i, "<") && tokens_[i].begin == tokens_[i - 1].end()) i = AfterTemplate(i, end);
      if (!Is(i, "::")) break;
      ++i;
    }
    return i;
  }

  std::size_t AfterTemplate(std::size_t i, std::size_t end) const {
    for (int depth = 0; i < end; i = code_.Partner(i) + 1) {
      depth += Is(i, "<") ? 1 : Is(i, ">") ? -1 : 0;
      if (depth == 0) return i + 1;
    }
    return end;
  }

  Code& code_;
  const std::vector<Token>& tokens_;
  std::size_t blocks_ = 0;
};

Code::Code(std::string source) : source_(std::move(source)) {
  tokens_ = TokensOf(source_);
  partners_ = PartnersOf(tokens_);
  in_body_.resize(tokens_.size(), false);
  CodeReader(*this).Read();
}

std::string_view Code::Text(Range range) const {
  if (range.first >= range.last) return "";
  const std::size_t begin = tokens_[range.first].begin;
  return std::string_view(source_).substr(begin, tokens_[range.last - 1].end() - begin);
}

}  // namespace galen::mutate
