// What literals mean, and numbers, times and durations as CEL reads and writes them in texts. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::alloc::cel {

// What kind of literal a text stands in.
struct QuotedText {
  bool bytes = false;  // \x and octal escapes are bytes, not code points; \u and \U are refused
  bool raw = false;    // nothing is an escape
};
// What stands between the quotes of a literal. Line ends become "\n". InvalidArgument for an escape
// that CEL does not have.
StatusOr<std::string> Unescape(std::string_view text, QuotedText quoted);

// A code point in UTF-8; U+FFFD for what is none.
std::string ToUtf8(std::uint32_t code_point);

// Numbers in base 10, as Go's strconv reads them: with a sign, "inf" and "nan" for doubles. nullopt
// for anything else and for what does not fit.
std::optional<std::int64_t> ReadInt(std::string_view text, int base = 10);
std::optional<std::uint64_t> ReadUint(std::string_view text, int base = 10);
std::optional<double> ReadDouble(std::string_view text);
// As Go's %g does with the fewest digits: "1e+06", "0.1".
std::string WriteDouble(double value);

// Seconds since 1970 and nanoseconds; the years 1 to 9999.
struct Instant {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
};
inline constexpr std::int64_t kInstantMin = -62135596800;
inline constexpr std::int64_t kInstantMax = 253402300799;
// RFC 3339, with an offset.
std::optional<Instant> ReadInstant(std::string_view text);
// In UTC, with as many digits after the second as are not zero.
std::string WriteInstant(Instant instant);

// "1h30m", "-1.5s", "0": as Go's time.ParseDuration, in nanoseconds.
std::optional<std::int64_t> ReadDuration(std::string_view text);
// In seconds: "5400s".
std::string WriteDuration(std::int64_t nanoseconds);

}  // namespace galen::alloc::cel
