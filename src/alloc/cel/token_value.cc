// Tested by parser_test.cc.
#include "alloc/cel/token_value.h"

#include <string>

#include "alloc/cel/values/literal.h"

namespace galen::alloc::cel {
namespace {

std::string_view WithoutHexPrefix(std::string_view text) {
  return text.substr(text.starts_with("0x") ? 2 : 0);
}
int BaseOf(std::string_view text) { return text.starts_with("0x") ? 16 : 10; }

std::optional<Value> Whole(std::string_view text, const std::string& sign) {
  const auto value = ReadInt(sign + std::string(WithoutHexPrefix(text)), BaseOf(text));
  return value ? std::optional(Value::Int(*value)) : std::nullopt;
}

std::optional<Value> Natural(std::string_view text) {
  text.remove_suffix(1);  // u
  const auto value = ReadUint(WithoutHexPrefix(text), BaseOf(text));
  return value ? std::optional(Value::Uint(*value)) : std::nullopt;
}

std::optional<Value> Real(const std::string& text) {
  const std::optional<double> value = ReadDouble(text);
  return value ? std::optional(Value::Double(*value)) : std::nullopt;
}

std::optional<Value> NamedValue(std::string_view name) {
  if (name == "true" || name == "false") return Value::Bool(name == "true");
  if (name == "null") return Value();
  return std::nullopt;
}

}  // namespace

std::optional<Value> ValueOf(const Token& token, bool negative, std::string_view kept) {
  const std::string sign = negative ? "-" : "";
  switch (token.kind) {
    case Token::Kind::kInt:
      return Whole(token.text, sign);
    case Token::Kind::kUint:
      return Natural(token.text);
    case Token::Kind::kDouble:
      return Real(sign + token.text);
    case Token::Kind::kString:
      return Value::String(kept);
    case Token::Kind::kBytes:
      return Value::Bytes(kept);
    case Token::Kind::kName:
      return NamedValue(token.text);
    case Token::Kind::kEnd:
    case Token::Kind::kQuotedName:
    case Token::Kind::kSymbol:
      return std::nullopt;
  }
  GALEN_UNREACHABLE();
}

}  // namespace galen::alloc::cel
