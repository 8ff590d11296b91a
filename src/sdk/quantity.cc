#include "sdk/quantity.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <regex>

namespace galen::sdk {
namespace {

constexpr std::size_t kTextMax = 64;

const std::regex& Form() {
  static const std::regex kForm(
      R"(^([+-]?)([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$)");
  return kForm;
}

// The factor of a suffix or an exponent.
long double FactorOf(const std::string& suffix) {
  if (suffix.empty()) return 1;
  if (suffix.size() > 1 && suffix[1] != 'i') {
    int exponent = 0;
    const std::size_t sign = suffix[1] == '+' ? 2 : 1;
    const char* end = suffix.data() + suffix.size();
    // An exponent too large for an int is no sensible amount; it compares as infinite.
    if (std::from_chars(suffix.data() + sign, end, exponent).ec != std::errc()) exponent = 100000;
    return std::pow(10.0L, static_cast<long double>(exponent));
  }
  constexpr std::string_view kLarge = "KMGTPE";
  constexpr std::string_view kSmall = "mun";
  if (const std::size_t at = kSmall.find(suffix[0]); at != std::string_view::npos) {
    return 1 / std::pow(1000.0L, static_cast<long double>(at + 1));
  }
  const std::size_t at = suffix[0] == 'k' ? 0 : kLarge.find(suffix[0]);
  return std::pow(suffix.size() == 2 ? 1024.0L : 1000.0L, static_cast<long double>(at + 1));
}

// In billionths, the finest unit that Kubernetes counts. nullopt: no quantity.
std::optional<long double> BillionthsOf(const std::string& text) {
  std::smatch parts;
  if (text.size() > kTextMax || !std::regex_match(text, parts, Form())) return std::nullopt;
  const std::string digits = parts[2];
  const std::size_t point = digits.find('.');
  long double whole = 0;
  for (const char c : digits) {
    if (c != '.') whole = whole * 10 + (c - '0');
  }
  const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
  const long double scale = std::pow(10.0L, static_cast<long double>(decimals));
  const long double amount = whole * FactorOf(parts[4]) * 1e9L / scale;
  return std::round(parts[1] == "-" ? -amount : amount);
}

}  // namespace

bool IsQuantity(const std::string& text) {
  return text.size() <= kTextMax && std::regex_match(text, Form());
}

bool SameQuantity(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::optional<long double> first = BillionthsOf(a);
  const std::optional<long double> second = BillionthsOf(b);
  return first && second && *first == *second;
}

}  // namespace galen::sdk
