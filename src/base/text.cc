#include "base/text.h"

#include <algorithm>

namespace galen {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kCutMark = "...";
// RFC 1035, section 2.3.4, and Kubernetes' validation of names.
constexpr std::size_t kDnsLabelBytesMax = 63;
constexpr std::size_t kDnsSubdomainBytesMax = 253;

// One code point read from the front of a text; no bytes when that is no valid UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

// The shortest form only, no surrogates, at most U+10FFFF (RFC 3629).
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

// Beside the control characters also those that reorder or break a line unseen.
bool IsControl(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

template <typename Replace>
std::string Cleaned(std::string_view text, Replace replace) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = ReadCodePoint(text);
    // A byte that begins nothing is replaced alone: what follows it may be good again.
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    clean += point.bytes == 0 || replace(point.value) ? kReplacement : text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return clean;
}

bool IsLowerAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// A label without its bound: Kubernetes bounds a subdomain only as a whole.
bool IsUnboundedLabel(std::string_view text) {
  return !text.empty() && IsLowerAlphanumeric(text.front()) && IsLowerAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '-' || IsLowerAlphanumeric(c); });
}

}  // namespace

std::string ToValidUtf8(std::string_view text) {
  return Cleaned(text, [](char32_t) { return false; });
}

std::string CutText(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const bool marked = bytes_max >= kCutMark.size();
  std::size_t end = marked ? bytes_max - kCutMark.size() : bytes_max;
  // 10xxxxxx continues a code point; the cut goes before its first byte.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  std::string cut(text.substr(0, end));
  if (marked) cut += kCutMark;
  return cut;
}

std::string Printable(std::string_view text) { return Cleaned(text, IsControl); }

bool IsDnsLabel(std::string_view text) {
  return text.size() <= kDnsLabelBytesMax && IsUnboundedLabel(text);
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > kDnsSubdomainBytesMax) return false;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!IsUnboundedLabel(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return IsUnboundedLabel(text);
}

}  // namespace galen
