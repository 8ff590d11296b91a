#include "probes/rules/sign.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace galen::probes {

std::optional<double> NumberOf(const Sign& sign) {
  if (const double* number = std::get_if<double>(&sign.value)) {
    return std::isfinite(*number) ? std::optional(*number) : std::nullopt;
  }
  const std::string& text = std::get<std::string>(sign.value);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> WholeNumberOf(const Sign& sign) {
  constexpr double kExactMax = 9e15;  // past it a double skips whole numbers
  const std::optional<double> number = NumberOf(sign);
  if (!number || std::fabs(*number) > kExactMax || std::floor(*number) != *number) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

std::optional<std::uint64_t> BitsOf(const Sign& sign) {
  const std::optional<std::int64_t> whole = WholeNumberOf(sign);
  if (!whole || *whole < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*whole);
}

// Enough for any counter that people read, too little for the noise of a binary fraction.
std::string NumberText(double number) {
  // Most are whole, and cost less so.
  constexpr double kDigitsMost = 1e10;
  if (std::fabs(number) < kDigitsMost && std::trunc(number) == number) {
    return fmt::to_string(static_cast<std::int64_t>(number));
  }
  return fmt::format("{:.10g}", number);
}

std::string ValueText(const Sign& sign) {
  if (const double* number = std::get_if<double>(&sign.value)) return NumberText(*number);
  return std::get<std::string>(sign.value);
}

}  // namespace galen::probes
