#include "base/data/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

namespace galen {
namespace {

bool IsYamlDigit(char c) { return c >= '0' && c <= '9'; }

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> values) {
  return std::find(values.begin(), values.end(), text) != values.end();
}

// The whole of `digits` or nothing: "12a" is a string.
template <typename T>
std::optional<T> Whole(std::string_view digits, int base) {
  T value{};
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::size_t CountDigits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsYamlDigit);
  return static_cast<std::size_t>(end - text.begin());
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool IsFloat(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::size_t whole = CountDigits(text);
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = CountDigits(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return false;
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && CountDigits(text) == text.size();
}

std::optional<Json> ResolveNumber(std::string_view text) {
  // 1.2 writes octals as 0o14; a plain 014 is fourteen there and twelve in 1.1. from_chars takes a
  // minus sign, which the schema does not allow after the prefix.
  if (text.substr(0, 2) == "0o") {
    const auto value = Whole<std::int64_t>(text.substr(2), 8);
    return value && text[2] != '-' ? std::optional(Json(*value)) : std::nullopt;
  }
  if (text.substr(0, 2) == "0x") {
    const auto value = Whole<std::int64_t>(text.substr(2), 16);
    return value && text[2] != '-' ? std::optional(Json(*value)) : std::nullopt;
  }
  if (!IsFloat(text)) return std::nullopt;
  // from_chars takes no plus sign.
  if (text.front() == '+') text.remove_prefix(1);
  if (const auto value = Whole<std::int64_t>(text, 10)) return Json(*value);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // Too large for any double: read as a string rather than as a wrong number.
  if (result.ec != std::errc()) return std::nullopt;
  return Json(value);
}

std::optional<Json> ResolveSpecial(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (IsOneOf(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) return Json(kInfinity);
  if (IsOneOf(text, {"-.inf", "-.Inf", "-.INF"})) return Json(-kInfinity);
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"}))
    return Json(std::numeric_limits<double>::quiet_NaN());
  return std::nullopt;
}

}  // namespace

Json ResolvePlain(std::string_view text) {
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) return {};
  if (IsOneOf(text, {"true", "True", "TRUE"})) return true;
  if (IsOneOf(text, {"false", "False", "FALSE"})) return false;
  if (const auto number = ResolveNumber(text)) return *number;
  if (const auto special = ResolveSpecial(text)) return *special;
  return text;
}

bool NeedsQuotes(std::string_view text) {
  if (!ResolvePlain(text).is_string()) return true;
  // YAML 1.1's merge key and default value.
  if (text == "<<" || text == "=") return true;
  std::string lower(text.substr(0, 4));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (text.size() <= 3 && IsOneOf(lower, {"y", "n", "yes", "no", "on", "off"})) return true;
  // YAML 1.1's numbers with underscores, in base 60 or 2, and times: any text made only of their
  // characters.
  std::string_view unsigned_text = text;
  if (text.front() == '-' || text.front() == '+') unsigned_text.remove_prefix(1);
  return !unsigned_text.empty() &&
         (IsYamlDigit(unsigned_text.front()) || unsigned_text.front() == '.') &&
         unsigned_text.find_first_not_of("0123456789abcdefABCDEFxXoTtZz_:.+- ") ==
             std::string_view::npos &&
         unsigned_text.find_first_of(":_-xXob") != std::string_view::npos;
}

}  // namespace galen
