#include "alloc/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace galen::alloc {
namespace {

using Format = Quantity::Format;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
// A sum of a million numbers with so many digits before the point is below 2^127 billionths.
constexpr int kWholeDigitsMax = 23;

constexpr __int128 PowerOfTen(int exponent) {
  __int128 power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}
constexpr __int128 kNanoPerOne = PowerOfTen(9);

std::optional<std::int64_t> AsInt64(__int128 value) {
  if (value < kInt64Min || value > kInt64Max) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

struct Suffix {
  Format format;
  int exponent;  // of 2 with kBinary, otherwise of 10
};
constexpr std::array<std::pair<std::string_view, Suffix>, 16> kSuffixes{{
    {"n", {Format::kDecimal, -9}},
    {"u", {Format::kDecimal, -6}},
    {"m", {Format::kDecimal, -3}},
    {"", {Format::kDecimal, 0}},
    {"k", {Format::kDecimal, 3}},
    {"M", {Format::kDecimal, 6}},
    {"G", {Format::kDecimal, 9}},
    {"T", {Format::kDecimal, 12}},
    {"P", {Format::kDecimal, 15}},
    {"E", {Format::kDecimal, 18}},
    {"Ki", {Format::kBinary, 10}},
    {"Mi", {Format::kBinary, 20}},
    {"Gi", {Format::kBinary, 30}},
    {"Ti", {Format::kBinary, 40}},
    {"Pi", {Format::kBinary, 50}},
    {"Ei", {Format::kBinary, 60}},
}};

// The exponent of "e3", "E-3" or "e+3"; nullopt for other text and beyond an int.
std::optional<int> ExponentOf(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(text[1] == '+' ? 2 : 1);
  if (text.empty() || text[0] == '+') return std::nullopt;
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return exponent;
}

std::optional<Suffix> ReadSuffix(std::string_view text) {
  for (const auto& [name, suffix] : kSuffixes) {
    if (name == text) return suffix;
  }
  if (const auto exponent = ExponentOf(text)) return Suffix{Format::kExponent, *exponent};
  return std::nullopt;
}

// No number that anybody keeps has more digits; numbers that have are counted as if they had these.
constexpr std::size_t kDigitsMax = 1'000'000;

// The digits of a quantity, without leading zeros before the point, and what follows them.
struct Written {
  bool negative = false;
  std::string digits;
  bool any_digit = false;  // zeros counted
  int whole = 1;           // how many stand before the point, at least a zero
  int decimals = 0;        // how many stand behind it
  std::string_view suffix;
};

std::string_view TakeDigits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

// Takes "", "+" and "." for zero when a suffix or nothing follows, as Kubernetes does.
Written TakeApart(std::string_view text) {
  Written written;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    written.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const std::string_view zeros = text.substr(0, text.find_first_not_of('0'));
  text.remove_prefix(zeros.size());
  written.digits = TakeDigits(text);
  written.whole = static_cast<int>(std::clamp<std::size_t>(written.digits.size(), 1, kDigitsMax));
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    const std::string_view decimals = TakeDigits(text);
    written.decimals = static_cast<int>(std::min(decimals.size(), kDigitsMax));
    written.digits += decimals;
  }
  written.suffix = text;
  written.any_digit = !zeros.empty() || !written.digits.empty();
  return written;
}

// digits * 10^exponent in billionths, rounded up; nullopt beyond what this program holds.
std::optional<__int128> ToNano(std::string_view digits, int exponent) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  const int shift = exponent - (-9);
  const auto size = static_cast<int>(digits.size());
  if (size + exponent > kWholeDigitsMax) return std::nullopt;
  // Only these digits stand left of the last place that is kept.
  const int kept = std::clamp(size + std::min(shift, 0), 0, size);
  __int128 nano = 0;
  for (const char digit : digits.substr(0, static_cast<std::size_t>(kept))) {
    nano = nano * 10 + (digit - '0');
  }
  const std::string_view rest = digits.substr(static_cast<std::size_t>(kept));
  if (rest.find_first_not_of('0') != std::string_view::npos) ++nano;
  return shift > 0 ? nano * PowerOfTen(shift) : nano;
}

// number * 2^power with so many decimals, in billionths, rounded up and at most 2^63 - 1 ones, to
// which Kubernetes bounds what is written so.
std::optional<__int128> ToNanoBinary(const std::string& digits, int decimals, int power) {
  constexpr __int128 kMost = static_cast<__int128>(kInt64Max) * kNanoPerOne;
  // The factor is multiplied in as decimal text would be: digit by digit, with the carry in front.
  std::string product = digits;
  for (int doubled = 0; doubled < power; ++doubled) {
    int carry = 0;
    for (auto digit = product.rbegin(); digit != product.rend(); ++digit) {
      const int twice = 2 * (*digit - '0') + carry;
      *digit = static_cast<char>('0' + twice % 10);
      carry = twice / 10;
    }
    if (carry != 0) product.insert(product.begin(), '1');
  }
  const auto nano = ToNano(product, -decimals);
  return nano ? std::min(*nano, kMost) : kMost;
}

std::string DigitsOf(__int128 number) {
  std::string digits;
  for (; number != 0; number /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + number % 10));
  }
  return digits;
}

// Digits and power of ten, without the zeros that a power of three could take.
std::string DecimalText(__int128 nano, Format format) {
  int exponent = -9;
  while (nano % 10 == 0) {
    nano /= 10;
    ++exponent;
  }
  while (exponent % 3 != 0 || (format == Format::kDecimal && exponent > 18)) {
    nano *= 10;
    --exponent;
  }
  std::string digits = DigitsOf(nano);
  if (format == Format::kExponent) {
    return exponent == 0 ? digits : digits + "e" + std::to_string(exponent);
  }
  for (const auto& [name, suffix] : kSuffixes) {
    if (suffix.format == Format::kDecimal && suffix.exponent == exponent) digits += name;
  }
  return digits;
}

std::string BinaryText(__int128 whole) {
  int exponent = 0;
  for (; whole % 1024 == 0 && exponent < 60; whole /= 1024) exponent += 10;
  std::string text = DigitsOf(whole);
  for (const auto& [name, suffix] : kSuffixes) {
    if (suffix.format == Format::kBinary && suffix.exponent == exponent) text += name;
  }
  return text;
}

}  // namespace

StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  const auto wrong = [&](Code code, std::string_view why) {
    return Status(code, fmt::format("quantity \"{}\" {}", text.substr(0, 64), why));
  };
  if (text.empty()) return wrong(Code::kInvalidArgument, "is empty: write a number such as 80Gi");
  const Written written = TakeApart(text);
  const auto suffix = ReadSuffix(written.suffix);
  if (!suffix) {
    return wrong(Code::kInvalidArgument,
                 "is not a number with a suffix such as k, M, Gi, m or an exponent such as e3");
  }
  Quantity quantity;
  quantity.format_ = suffix->format;
  const bool binary = suffix->format == Format::kBinary;
  const int scale =
      (binary ? 0 : std::clamp(suffix->exponent, -10'000'000, 10'000'000)) - written.decimals;
  const auto nano = binary ? ToNanoBinary(written.digits, written.decimals, suffix->exponent)
                           : ToNano(written.digits, scale);
  if (!nano) return wrong(Code::kOutOfRange, "is beyond 10^23");
  quantity.nano_ = written.negative ? -*nano : *nano;
  // Kubernetes reads up to 18 digits as an int64 and others as a decimal of any length. With a
  // binary suffix it leaves room for the factor, and takes a decimal for all that have a point.
  const int room = binary ? 14 - suffix->exponent * 3 / 10 : 18;
  quantity.small_ = written.whole + written.decimals <= room && scale >= kNanoScale &&
                    (!binary || written.decimals == 0);
  if (!quantity.small_ && !written.any_digit) {
    return wrong(Code::kInvalidArgument, "has no digit");
  }
  quantity.scale_ =
      quantity.small_ ? static_cast<std::int8_t>(std::min(scale, kWholeDigitsMax)) : kNanoScale;
  if (binary && !quantity.small_ && *nano > 0 && *nano < kNanoPerOne) {
    quantity.format_ = Format::kDecimal;
  }
  return quantity;
}

Quantity Quantity::Of(std::int64_t whole, Format format) {
  Quantity quantity;
  quantity.nano_ = whole * kNanoPerOne;
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::OfNano(__int128 nano, Format format) {
  Quantity quantity;
  quantity.nano_ = nano;
  quantity.scale_ = kNanoScale;
  quantity.small_ = false;
  quantity.format_ = format;
  return quantity;
}

int Quantity::Sign() const { return nano_ < 0 ? -1 : nano_ > 0 ? 1 : 0; }

__int128 Quantity::Mantissa(int scale) const {
  return nano_ == 0 ? 0 : nano_ / PowerOfTen(scale - kNanoScale);
}

std::optional<std::int64_t> Quantity::AsInteger() const {
  if (!small_ || scale_ < 0) return std::nullopt;
  return AsInt64(Mantissa(0));
}

std::optional<std::int64_t> Quantity::AsMilli() const {
  constexpr __int128 kNanoPerMilli = PowerOfTen(6);
  if (nano_ % kNanoPerMilli != 0) return std::nullopt;
  return AsInt64(nano_ / kNanoPerMilli);
}

double Quantity::AsDouble() const {
  const auto mantissa = static_cast<double>(Mantissa(scale_));
  return scale_ == 0 ? mantissa : mantissa * std::pow(10.0, scale_);
}

// This with `nano` for its value, after `other` was added or subtracted.
Quantity Quantity::Plus(__int128 nano, const Quantity& other) const {
  Quantity sum = *this;
  sum.nano_ = nano;
  if (nano_ == 0) sum.format_ = other.format_;
  const bool both_small = small_ && other.small_;
  if (both_small && other.nano_ == 0) return sum;
  sum.scale_ = both_small && nano_ == 0 ? other.scale_ : std::min(scale_, other.scale_);
  const auto fits = [&](const Quantity& part) {
    return AsInt64(part.Mantissa(sum.scale_)).has_value();
  };
  sum.small_ = both_small && fits(*this) && fits(other) && fits(sum);
  return sum;
}

Quantity Quantity::operator+(const Quantity& other) const {
  return Plus(nano_ + other.nano_, other);
}

Quantity Quantity::operator-(const Quantity& other) const {
  return Plus(nano_ - other.nano_, other);
}

std::string ToString(const Quantity& quantity) {
  const __int128 nano = quantity.nano();
  if (nano == 0) return "0";
  const std::string sign = nano < 0 ? "-" : "";
  const __int128 amount = nano < 0 ? -nano : nano;
  if (quantity.format() == Format::kExponent) return sign + DecimalText(amount, Format::kExponent);
  // Below 1Ki, and where a binary suffix would round, decimal ones are printed.
  if (quantity.format() == Format::kBinary && amount >= 1024 * kNanoPerOne &&
      amount % kNanoPerOne == 0) {
    return sign + BinaryText(amount / kNanoPerOne);
  }
  return sign + DecimalText(amount, Format::kDecimal);
}

}  // namespace galen::alloc
