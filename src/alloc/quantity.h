// A Kubernetes quantity: an exact number with up to nine decimal places, written "80Gi", "100m" or
// "1e3". A value. The rules are those of apimachinery's resource.Quantity, also where they
// surprise: what is finer than 1n is rounded away from zero, "1.5Gi" has no integer although it is
// whole.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::alloc {

class Quantity {
 public:
  // How the number was written, which decides how it is printed: "1Gi", "1k", "1e3".
  enum class Format { kBinary, kDecimal, kExponent };

  // 0.
  Quantity() = default;
  // InvalidArgument, with the text, for what Kubernetes would not take. OutOfRange beyond ±10^23,
  // which Kubernetes would take and nothing has.
  static StatusOr<Quantity> Parse(std::string_view text);
  static Quantity Of(std::int64_t whole, Format format = Format::kDecimal);
  // From billionths; without an integer, like every quantity that Kubernetes computes with
  // decimals.
  static Quantity OfNano(__int128 nano, Format format = Format::kDecimal);

  // In billionths.
  __int128 nano() const { return nano_; }
  Format format() const { return format_; }

  int Sign() const;
  // What apimachinery's AsInt64 gives: nullopt for what was written with decimal places ("2.0") or
  // computed with them, even where the value is whole.
  std::optional<std::int64_t> AsInteger() const;
  // In thousandths; nullopt unless they are whole and an int64 holds them.
  std::optional<std::int64_t> AsMilli() const;
  double AsDouble() const;

  // Sums keep the left side's format, or take the right one's when the left is zero. They are exact
  // for a million summands that were parsed.
  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;
  // By value: 1024Mi == 1Gi.
  bool operator==(const Quantity& other) const { return nano_ == other.nano_; }
  std::strong_ordering operator<=>(const Quantity& other) const { return nano_ <=> other.nano_; }

 private:
  // apimachinery keeps small numbers as an int64 and a power of ten, others as a decimal. Which
  // decides AsInteger, and the power decides how AsDouble rounds.
  static constexpr int kNanoScale = -9;
  // What stands before 10^scale.
  __int128 Mantissa(int scale) const;
  Quantity Plus(__int128 nano, const Quantity& other) const;

  __int128 nano_ = 0;
  std::int8_t scale_ = 0;
  bool small_ = true;
  Format format_ = Format::kDecimal;
};

// The canonical text, as the API server prints it: "1Gi" for 1024Mi, "100m" for 0.1.
std::string ToString(const Quantity& quantity);

}  // namespace galen::alloc
