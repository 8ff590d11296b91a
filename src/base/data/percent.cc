#include "base/data/percent.h"

#include <optional>

namespace galen {
namespace {

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

std::string PercentDecode(std::string_view text, Plus plus) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool may_be = text[i] == '%' && i + 2 < text.size();
    const std::optional<int> high = may_be ? HexDigit(text[i + 1]) : std::nullopt;
    const std::optional<int> low = may_be ? HexDigit(text[i + 2]) : std::nullopt;
    if (high && low) {
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      out += plus == Plus::kIsSpace && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace galen
