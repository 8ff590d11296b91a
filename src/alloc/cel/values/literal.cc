#include "alloc/cel/values/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/time.h"

namespace galen::alloc::cel {
namespace {

std::string WithPlainLineEnds(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      plain += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<char> SimpleEscape(char c) {
  static constexpr std::string_view kLetters = "abfnrtv\\'\"`?";
  static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"`?";
  const std::size_t at = kLetters.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return kMeanings[at];
}

bool IsCodePoint(std::uint32_t value) {
  return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

struct NumberEscape {
  std::size_t digits = 0;
  int base = 16;
};
std::optional<NumberEscape> NumberEscapeOf(char c, bool bytes) {
  if (c == 'x' || c == 'X') return NumberEscape{.digits = 2};
  if (c == 'u' && !bytes) return NumberEscape{.digits = 4};
  if (c == 'U' && !bytes) return NumberEscape{.digits = 8};
  if (c >= '0' && c <= '3') return NumberEscape{.digits = 3, .base = 8};
  return std::nullopt;
}

// REQUIRES: text begins after a backslash. Appends what the escape means; how long it was.
StatusOr<std::size_t> ReadEscape(std::string_view text, bool bytes, std::string& meaning) {
  if (text.empty()) return InvalidArgument("an escape is not finished");
  if (const std::optional<char> simple = SimpleEscape(text[0])) {
    meaning += *simple;
    return 1;
  }
  const std::optional<NumberEscape> number = NumberEscapeOf(text[0], bytes);
  if (!number) return InvalidArgument("no such escape in a string");
  const std::size_t from = number->base == 8 ? 0 : 1;
  const std::string_view digits = text.substr(from, number->digits);
  const std::optional<std::uint64_t> value = ReadUint(digits, number->base);
  if (digits.size() != number->digits || !value) {
    return InvalidArgument("an escape has too few digits");
  }
  if (bytes) {
    meaning += static_cast<char>(*value);
  } else {
    if (!IsCodePoint(static_cast<std::uint32_t>(*value))) {
      return InvalidArgument("an escape is no code point");
    }
    meaning += ToUtf8(static_cast<std::uint32_t>(*value));
  }
  return from + number->digits;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

// "0123" digits of a field of a fixed place; nullopt for anything else.
std::optional<int> ReadField(std::string_view text, std::size_t at, std::size_t length) {
  int value = 0;
  for (std::size_t i = at; i < at + length; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// After the seconds: ".5" and then "Z" or "+01:00". Nanoseconds, and seconds east of UTC.
struct InstantEnd {
  std::uint32_t nanoseconds = 0;
  int offset = 0;
};
std::optional<InstantEnd> ReadInstantEnd(std::string_view text) {
  InstantEnd end;
  if (!text.empty() && (text[0] == '.' || text[0] == ',')) {
    std::size_t i = 1;
    std::uint32_t unit = 100'000'000;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i, unit /= 10) {
      end.nanoseconds += static_cast<std::uint32_t>(text[i] - '0') * unit;
    }
    if (i == 1) return std::nullopt;
    text.remove_prefix(i);
  }
  if (text == "Z") return end;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const auto hours = ReadField(text, 1, 2), minutes = ReadField(text, 4, 2);
  if (!hours || !minutes || *hours > 24 || *minutes > 60) return std::nullopt;
  end.offset = (*hours * 60 + *minutes) * 60 * (text[0] == '-' ? -1 : 1);
  return end;
}

}  // namespace

std::string ToUtf8(std::uint32_t c) {
  if (!IsCodePoint(c)) return "\xEF\xBF\xBD";
  std::string text;
  if (c < 0x80) {
    text += static_cast<char>(c);
    return text;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[more] | (c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
  return text;
}

StatusOr<std::string> Unescape(std::string_view text, QuotedText quoted) {
  const std::string plain = WithPlainLineEnds(text);
  if (quoted.raw) return plain;
  std::string meaning;
  for (std::size_t i = 0; i < plain.size();) {
    if (plain[i] != '\\') {
      meaning += plain[i++];
      continue;
    }
    const std::string_view rest = std::string_view(plain).substr(i + 1);
    ASSIGN_OR_RETURN(const std::size_t length, ReadEscape(rest, quoted.bytes, meaning));
    i += 1 + length;
  }
  return meaning;
}

std::optional<std::int64_t> ReadInt(std::string_view text, int base) {
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  if (plus && text.starts_with('-')) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ReadUint(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ReadDouble(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) return std::nullopt;
  double value = 0;
  if (EqualsIgnoringCase(text, "inf") || EqualsIgnoringCase(text, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else if (EqualsIgnoringCase(text, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Too small is zero, too large is none; from_chars distinguishes neither.
    const bool out = error == std::errc::result_out_of_range;
    if (out && std::isinf(std::strtod(std::string(text).c_str(), nullptr))) return std::nullopt;
    if ((error != std::errc{} && !out) || end != text.data() + text.size() || std::isnan(value)) {
      return std::nullopt;
    }
  }
  return negative ? -value : value;
}

std::string WriteDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  char buffer[32];
  const auto scientific =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(scientific.ptr - buffer));
  const std::size_t e = text.find('e');
  const std::int64_t exponent = ReadInt(text.substr(e + 1)).value_or(0);
  // Go shows an exponent from 6 on whenever it looks for the fewest digits.
  if (exponent < -4 || exponent >= 6) {
    return std::string(text);
  }
  const auto fixed =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  return {buffer, fixed.ptr};
}

std::optional<Instant> ReadInstant(std::string_view text) {
  const auto year = ReadField(text, 0, 4), month = ReadField(text, 5, 2);
  const auto day = ReadField(text, 8, 2), hour = ReadField(text, 11, 2);
  const auto minute = ReadField(text, 14, 2), second = ReadField(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const std::optional<InstantEnd> end = ReadInstantEnd(text.substr(19));
  if (!end) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 86400 + *hour * 3600 + *minute * 60 + *second - end->offset;
  if (seconds < kInstantMin || seconds > kInstantMax) return std::nullopt;
  return Instant{.seconds = seconds, .nanoseconds = end->nanoseconds};
}

std::string WriteInstant(Instant instant) {
  using std::chrono::days, std::chrono::seconds;
  const std::chrono::sys_time<seconds> time{seconds(instant.seconds)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (instant.nanoseconds != 0) {
    text += fmt::format(".{:09}", instant.nanoseconds);
    while (text.back() == '0') text.pop_back();
  }
  return text + "Z";
}

std::optional<std::int64_t> ReadDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  // base's reader knows days, Go's does not.
  if (text.starts_with('-') || text.starts_with('+') || text.find('d') != std::string_view::npos) {
    return std::nullopt;
  }
  const StatusOr<galen::Duration> duration = ParseDuration(text);
  if (!duration.ok()) return std::nullopt;
  return negative ? -duration->count() : duration->count();
}

std::string WriteDuration(std::int64_t nanoseconds) {
  char buffer[64];
  const std::int64_t whole = nanoseconds / 1'000'000'000;
  const double seconds =
      static_cast<double>(whole) + static_cast<double>(nanoseconds - whole * 1'000'000'000) / 1e9;
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), seconds, std::chars_format::fixed);
  return std::string(buffer, end.ptr) + "s";
}

}  // namespace galen::alloc::cel
