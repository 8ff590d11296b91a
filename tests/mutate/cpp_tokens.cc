#include "tests/mutate/cpp_tokens.h"

#include <algorithm>
#include <array>
#include <string>

namespace galen::mutate {
namespace {

// Operators of several characters, the longest first. ">>" is left out: it ends two templates more
// often than it shifts, and nothing looks for a shift.
constexpr std::array<std::string_view, 24> kLongSigns = {
    "<=>", "...", "->*", "<<=", ">>=", "::", "->", "++", "--", "<<", "<=", ">=",
    "==",  "!=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^="};

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads one source from its begin to its end.
class TokenReader {
 public:
  explicit TokenReader(std::string_view source) : source_(source) {}

  std::vector<Token> Read() {
    while (at_ < source_.size()) Step();
    return std::move(tokens_);
  }

 private:
  char Ahead(std::size_t by = 0) const {
    return at_ + by < source_.size() ? source_[at_ + by] : '\0';
  }
  bool Begins(std::string_view with) const { return source_.substr(at_).starts_with(with); }
  void SkipPast(std::string_view what) {
    const std::size_t found = source_.find(what, at_);
    at_ = found == std::string_view::npos ? source_.size() : found + what.size();
  }
  void Add(Token::Kind kind, std::size_t begin) {
    tokens_.push_back({kind, source_.substr(begin, at_ - begin), begin});
    line_begins_ = false;
  }

  void Step() {
    const char c = Ahead();
    if (c == '\n') line_begins_ = true;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (Begins("//")) {
      SkipPast("\n");
      line_begins_ = true;
    } else if (Begins("/*")) {
      at_ += 2;
      SkipPast("*/");
    } else if (c == '#' && line_begins_) {
      SkipDirective();
    } else if (IsDigit(c)) {
      ReadNumber();
    } else if (IsLetter(c)) {
      ReadWord();
    } else if (c == '"' || c == '\'') {
      ReadText(at_);
    } else {
      ReadSign();
    }
  }

  // To the end of its line, or of the last line that it goes on in.
  void SkipDirective() {
    do {
      SkipPast("\n");
    } while (at_ >= 2 && at_ < source_.size() && source_[at_ - 2] == '\\');
    line_begins_ = true;
  }

  void ReadNumber() {
    const std::size_t begin = at_;
    while (IsLetter(Ahead()) || IsDigit(Ahead()) || Ahead() == '.' ||
           (Ahead() == '\'' && IsDigit(Ahead(1)))) {
      const bool signed_exponent = (Ahead() == 'e' || Ahead() == 'p' || Ahead() == 'E') &&
                                   (Ahead(1) == '-' || Ahead(1) == '+') &&
                                   (Ahead() == 'p' || !source_.substr(begin).starts_with("0x"));
      at_ += signed_exponent ? 2 : 1;
    }
    Add(Token::Kind::kNumber, begin);
  }

  void ReadWord() {
    const std::size_t begin = at_;
    while (IsLetter(Ahead()) || IsDigit(Ahead())) ++at_;
    const std::string_view word = source_.substr(begin, at_ - begin);
    const bool raw = word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
    if (Ahead() == '"' && raw) {
      ReadRawText(begin);
    } else if (Ahead() == '"' && (word == "u8" || word == "u" || word == "U" || word == "L")) {
      ReadText(begin);
    } else {
      Add(Token::Kind::kWord, begin);
    }
  }

  // R"mark(anything)mark"
  void ReadRawText(std::size_t begin) {
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = source_.size();
      return;
    }
    const std::string end = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    SkipPast(end);
    Add(Token::Kind::kText, begin);
  }

  void ReadText(std::size_t begin) {
    const char quote = source_[at_++];
    while (at_ < source_.size() && source_[at_] != quote) at_ += source_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, source_.size());
    Add(Token::Kind::kText, begin);
  }

  void ReadSign() {
    const std::size_t begin = at_;
    const auto* sign = std::find_if(kLongSigns.begin(), kLongSigns.end(),
                                    [this](std::string_view s) { return Begins(s); });
    at_ += sign == kLongSigns.end() ? 1 : sign->size();
    Add(Token::Kind::kSign, begin);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool line_begins_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> TokensOf(std::string_view source) { return TokenReader(source).Read(); }

std::vector<std::size_t> PartnersOf(const std::vector<Token>& tokens) {
  std::vector<std::size_t> partners(tokens.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    partners[i] = i;
    if (tokens[i].kind != Token::Kind::kSign) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') open.push_back(i);
    if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
      partners[open.back()] = i;
      open.pop_back();
    }
  }
  return partners;
}

}  // namespace galen::mutate
