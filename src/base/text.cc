#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/code_point.h"

namespace galen {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kCutMark = "...";
// RFC 1035, section 2.3.4, and Kubernetes' validation of names.
constexpr std::size_t kDnsLabelBytesMax = 63;
constexpr std::size_t kDnsSubdomainBytesMax = 253;

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

std::string Shown(std::string_view text, std::size_t bytes_max) {
  return CutText(Printable(text.substr(0, 2 * bytes_max)), bytes_max);
}

void GiveBack(std::string& text) { std::string().swap(text); }

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<std::int64_t> LeadingNumber(std::string_view text, int base) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool is_number = error == std::errc() && text.front() != '-';
  return is_number ? std::optional(number) : std::nullopt;
}

bool IsNear(std::string_view a, std::string_view b) {
  constexpr std::size_t kWrongMost = 2, kBytesMost = 64;
  if (a.size() > kBytesMost || b.size() > kBytesMost) return false;
  // Levenshtein's table, one row at a time: the distance of a prefix of `a` to each prefix of `b`.
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back() <= kWrongMost && row.back() * 2 <= std::max(a.size(), b.size());
}

std::string Counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

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
