#include "base/code_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace galen {
namespace {

constexpr char32_t kDelete = 0x7F;

bool IsHighControl(const CodePoint& point) {
  return point.value >= kDelete && IsControl(point.value);
}

// A fast path: most texts are plain ASCII.
bool IsPlain(std::string_view text) {
  return std::ranges::none_of(text,
                              [](char c) { return static_cast<unsigned char>(c) >= kDelete; });
}

}  // namespace

CodePoint ReadCodePoint(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // 0xC0 and 0xC1 could only begin an overlong form, 0xF5 and more what is past U+10FFFF.
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  char32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

bool IsControl(char32_t c) {
  return c < 0x20 || (c >= kDelete && c <= 0x9F) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool HasHighControl(std::string_view text) {
  if (IsPlain(text)) return false;
  while (!text.empty()) {
    const CodePoint point = ReadCodePoint(text);
    if (IsHighControl(point)) return true;
    text.remove_prefix(std::max<std::size_t>(point.bytes, 1));
  }
  return false;
}

std::string EscapeHighControls(std::string text) {
  if (IsPlain(text)) return text;
  std::string escaped;
  escaped.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint point = ReadCodePoint(rest);
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    if (point.bytes == 0) {
      escaped += "\uFFFD";
    } else if (IsHighControl(point)) {
      // Every control character is at most U+FFFF, so four digits suffice.
      escaped += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point.value));
    } else {
      escaped += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
  }
  return escaped;
}

}  // namespace galen
