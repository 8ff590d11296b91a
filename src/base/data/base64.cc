#include "base/data/base64.h"

#include <cstdint>

namespace galen {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// n bytes of the last group take n + 1 characters.
std::string EncodeUnpadded(std::string_view alphabet, std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0u);
    }
    for (std::size_t k = 0; k <= group.size(); ++k) out += alphabet[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace

StatusOr<std::string> DecodeBase64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;    // bits that wait in `bits`
  int digits = 0;   // characters of the alphabet so far
  int padding = 0;  // "=" at the end
  for (const char c : text) {
    if (IsSpace(c)) continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return InvalidArgument("not base64: a foreign character");
    if (padding > 0) return InvalidArgument("not base64: text after the padding");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    ++digits;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  if (padding > 2 || (digits + padding) % 4 != 0) return InvalidArgument("not base64: cut short");
  return out;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string out = EncodeUnpadded(kAlphabet, bytes);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::string EncodeBase64Url(std::string_view bytes) { return EncodeUnpadded(kUrlAlphabet, bytes); }

}  // namespace galen
