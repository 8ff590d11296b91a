#include "alloc/cel/lexer.h"

#include <algorithm>

#include "alloc/cel/values/literal.h"

namespace galen::alloc::cel {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

// Cuts one text into tokens, from left to right.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    for (;;) {
      SkipSpace();
      ASSIGN_OR_RETURN(Token token, Next());
      tokens.push_back(std::move(token));
      if (tokens.back().kind == Token::Kind::kEnd) return tokens;
    }
  }

 private:
  char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void Advance(std::size_t bytes) {
    for (; bytes > 0; --bytes, ++at_) {
      if (text_[at_] == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
        ++position_.column;
      }
    }
  }

  void SkipSpace() {
    for (;;) {
      if (at_ < text_.size() && IsSpace(Peek())) {
        Advance(1);
      } else if (Peek() == '/' && Peek(1) == '/') {
        Advance(std::min(text_.find('\n', at_), text_.size()) - at_);
      } else {
        return;
      }
    }
  }

  StatusOr<Token> Next() {
    if (at_ == text_.size()) return Token{.kind = Token::Kind::kEnd, .position = position_};
    const char c = Peek();
    if (StartsString()) return String();
    if (IsLetter(c)) return Name();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number();
    if (c == '`') return QuotedName();
    return Symbol();
  }

  Token Take(Token::Kind kind, std::size_t bytes) {
    Token token{.kind = kind, .position = position_, .text = std::string(text_.substr(at_, bytes))};
    Advance(bytes);
    return token;
  }

  Status Refuse(std::string_view what) const {
    return InvalidArgument("{}: {}", ToString(position_), what);
  }

  // Letters before a quote: r, b, and br, in either case.
  std::size_t PrefixLength() const {
    std::size_t length = 0;
    if (Peek() == 'b' || Peek() == 'B') ++length;
    if (Peek(length) == 'r' || Peek(length) == 'R') ++length;
    return length;
  }
  bool StartsString() const {
    const char quote = Peek(PrefixLength());
    return quote == '"' || quote == '\'';
  }

  StatusOr<Token> String() {
    const std::size_t prefix = PrefixLength();
    const bool bytes = prefix > 0 && (Peek() == 'b' || Peek() == 'B');
    const bool raw = prefix > (bytes ? 1u : 0u);
    ASSIGN_OR_RETURN(const std::size_t length, StringLength(prefix, raw));
    const auto kind = bytes ? Token::Kind::kBytes : Token::Kind::kString;
    Token token{.kind = kind, .position = position_};
    const std::size_t quotes = IsTriple(prefix) ? 3 : 1;
    const std::string_view inner =
        text_.substr(at_ + prefix + quotes, length - prefix - 2 * quotes);
    const StatusOr<std::string> meaning = Unescape(inner, {.bytes = bytes, .raw = raw});
    if (!meaning.ok()) return Refuse(meaning.status().message());
    token.text = *meaning;
    Advance(length);
    return token;
  }

  bool IsTriple(std::size_t prefix) const {
    return Peek(prefix) == Peek(prefix + 1) && Peek(prefix) == Peek(prefix + 2);
  }

  // From the prefix to the closing quote.
  StatusOr<std::size_t> StringLength(std::size_t prefix, bool raw) const {
    const char quote = Peek(prefix);
    const bool triple = IsTriple(prefix);
    const std::string end(triple ? 3 : 1, quote);
    for (std::size_t i = prefix + end.size(); at_ + i < text_.size(); ++i) {
      if (text_.substr(at_ + i).starts_with(end)) return i + end.size();
      const char c = Peek(i);
      if (!triple && (c == '\n' || c == '\r')) break;
      if (c == '\\' && !raw) ++i;
    }
    return Refuse("a string is not closed");
  }

  Token Name() {
    std::size_t length = 1;
    while (IsLetter(Peek(length)) || IsDigit(Peek(length))) ++length;
    return Take(Token::Kind::kName, length);
  }

  StatusOr<Token> QuotedName() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos || end == at_ + 1) return Refuse("a name in ` is not closed");
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    const bool allowed = std::all_of(name.begin(), name.end(), [](char c) {
      return IsLetter(c) || IsDigit(c) || c == '.' || c == '-' || c == '/' || c == ' ';
    });
    if (!allowed) return Refuse("a name in ` has letters, digits, _, ., -, / and spaces only");
    Token token = Take(Token::Kind::kQuotedName, end - at_ + 1);
    token.text = std::string(name);
    return token;
  }

  Token Number() {
    if (Peek() == '0' && Peek(1) == 'x' && IsHexDigit(Peek(2))) {
      std::size_t length = 2;
      while (IsHexDigit(Peek(length))) ++length;
      return Whole(length);
    }
    std::size_t length = 0;
    while (IsDigit(Peek(length))) ++length;
    const std::size_t whole = length;
    if (Peek(length) == '.' && IsDigit(Peek(length + 1))) {
      do ++length;
      while (IsDigit(Peek(length)));
    }
    length += ExponentLength(length);
    return length == whole ? Whole(length) : Take(Token::Kind::kDouble, length);
  }

  Token Whole(std::size_t length) {
    const bool natural = Peek(length) == 'u' || Peek(length) == 'U';
    return Take(natural ? Token::Kind::kUint : Token::Kind::kInt, length + (natural ? 1 : 0));
  }

  std::size_t ExponentLength(std::size_t from) const {
    if (Peek(from) != 'e' && Peek(from) != 'E') return 0;
    std::size_t length = 1;
    if (Peek(from + 1) == '+' || Peek(from + 1) == '-') ++length;
    if (!IsDigit(Peek(from + length))) return 0;
    while (IsDigit(Peek(from + length))) ++length;
    return length;
  }

  StatusOr<Token> Symbol() {
    for (const std::string_view two : {"==", "!=", "<=", ">=", "&&", "||"}) {
      if (text_.substr(at_).starts_with(two)) return Take(Token::Kind::kSymbol, 2);
    }
    static constexpr std::string_view kOne = "<>[]{}().,-!?:+*/%";
    if (kOne.find(Peek()) != std::string_view::npos) return Take(Token::Kind::kSymbol, 1);
    return Refuse("a character that no expression has");
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  Position position_;
};

}  // namespace

std::string ToString(Position position) {
  return fmt::format("{}:{}", position.line, position.column);
}

StatusOr<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

}  // namespace galen::alloc::cel
