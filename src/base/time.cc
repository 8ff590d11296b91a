#include "base/time.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace galen {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads a text from left to right: each call takes what it has read off the front.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }
  char Peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool Skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // A number of exactly `count` digits.
  std::optional<int> Digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    // At most four digits are ever asked for, so this cannot overflow.
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!IsDigit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }

  std::string_view TakeWhile(bool (*accept)(char)) {
    std::size_t count = 0;
    while (count < rest_.size() && accept(rest_[count])) ++count;
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view rest_;
};

// ".304" as nanoseconds; digits after the ninth are cut.
std::int64_t Nanos(std::string_view fraction) {
  std::int64_t nanos = 0;
  for (std::size_t i = 0; i < 9; ++i)
    nanos = nanos * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return nanos;
}

std::optional<std::chrono::sys_days> ReadDate(Scanner& in) {
  const auto year = in.Digits(4);
  if (!year || !in.Skip("-")) return std::nullopt;
  const auto month = in.Digits(2);
  if (!month || !in.Skip("-")) return std::nullopt;
  const auto day = in.Digits(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  // Such as the thirtieth of February, or month 13.
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

// A second of 60 is a leap second; it reads as the first of the next minute.
std::optional<seconds> ReadTimeOfDay(Scanner& in) {
  const auto hour = in.Digits(2);
  if (!hour || *hour > 23 || !in.Skip(":")) return std::nullopt;
  const auto minute = in.Digits(2);
  if (!minute || *minute > 59 || !in.Skip(":")) return std::nullopt;
  const auto second = in.Digits(2);
  if (!second || *second > 60) return std::nullopt;
  return hours(*hour) + minutes(*minute) + seconds(*second);
}

std::optional<std::int64_t> ReadFraction(Scanner& in) {
  if (!in.Skip(".")) return 0;
  const std::string_view digits = in.TakeWhile(IsDigit);
  if (digits.empty()) return std::nullopt;
  return Nanos(digits);
}

std::optional<seconds> ReadOffset(Scanner& in) {
  // RFC 3339, section 5.6, allows lower case for both letters, and a space for the T.
  if (in.Skip("Zz")) return seconds(0);
  const int sign = in.Peek() == '-' ? -1 : 1;
  if (!in.Skip("+-")) return std::nullopt;
  const auto hour = in.Digits(2);
  if (!hour || *hour > 23 || !in.Skip(":")) return std::nullopt;
  const auto minute = in.Digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  // How far that zone's clock is ahead of UTC; the caller subtracts it.
  return sign * (hours(*hour) + minutes(*minute));
}

// From the largest unit to the smallest, as kubectl prints ages: below `below`, whole `unit`s and
// the rest in `part`s. Two units only where the second still says something.
struct AgeStep {
  Duration below;
  Duration unit;
  char name;
  Duration part;
  char part_name;
};
constexpr days kYear(365);
constexpr std::array kAgeSteps = {
    AgeStep{minutes(2), seconds(1), 's', {}, 0},
    AgeStep{minutes(10), minutes(1), 'm', seconds(1), 's'},
    AgeStep{hours(3), minutes(1), 'm', {}, 0},
    AgeStep{hours(8), hours(1), 'h', minutes(1), 'm'},
    AgeStep{hours(48), hours(1), 'h', {}, 0},
    AgeStep{days(8), days(1), 'd', hours(1), 'h'},
    AgeStep{2 * kYear, days(1), 'd', {}, 0},
    AgeStep{8 * kYear, kYear, 'y', days(1), 'd'},
    AgeStep{Duration::max(), kYear, 'y', {}, 0},
};

std::optional<Duration> UnitOf(std::string_view name) {
  if (name == "ns") return Duration(1);
  if (name == "us" || name == "µs") return std::chrono::microseconds(1);
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "s") return seconds(1);
  if (name == "m") return minutes(1);
  if (name == "h") return hours(1);
  if (name == "d") return days(1);
  return std::nullopt;
}

// `whole`.`fraction` units added to `sum`; nullopt past what a Duration holds.
std::optional<Duration> AddPart(Duration sum, std::string_view whole, std::string_view fraction,
                                Duration unit) {
  // Wide enough for 19 digits of days in nanoseconds; the bound is looked at once, at the end.
  __int128 total = 0;
  constexpr std::size_t kDigitsMax = 19;  // as many as int64 has; more cannot be a duration
  if (whole.size() > kDigitsMax) return std::nullopt;
  for (const char c : whole) total = total * 10 + (c - '0');
  total *= unit.count();
  total += static_cast<__int128>(Nanos(fraction)) * unit.count() / kNanosPerSecond;
  total += sum.count();
  if (total > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return Duration(static_cast<std::int64_t>(total));
}

}  // namespace

std::string FormatRfc3339(WallTime time, int digits) {
  // By hand: nanoseconds of the day before the first representable one overflow.
  const std::int64_t count = time.time_since_epoch().count();
  const std::int64_t nanos = (count % kNanosPerSecond + kNanosPerSecond) % kNanosPerSecond;
  const std::chrono::sys_seconds whole(
      seconds(count / kNanosPerSecond - (count % kNanosPerSecond < 0 ? 1 : 0)));
  const auto day = std::chrono::floor<days>(whole);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(whole - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (digits > 0) {
    text += "." + fmt::format("{:09}", nanos).substr(0, static_cast<std::size_t>(digits));
  }
  return text + "Z";
}

StatusOr<WallTime> ParseRfc3339(std::string_view text) {
  const auto fault = [&] {
    return InvalidArgument("time \"{}\" is not in RFC 3339, as in 2026-11-21T14:02:11Z",
                           text.substr(0, 64));
  };
  Scanner in(text);
  const auto date = ReadDate(in);
  if (!date || !in.Skip("Tt ")) return fault();
  const auto time_of_day = ReadTimeOfDay(in);
  if (!time_of_day) return fault();
  const auto nanos = ReadFraction(in);
  if (!nanos) return fault();
  const auto offset = ReadOffset(in);
  if (!offset || !in.empty()) return fault();
  const auto whole = std::chrono::sys_seconds(*date) + *time_of_day - *offset;
  // The years that nanoseconds since 1970 can represent, less one at either end.
  if (whole < std::chrono::sys_days(std::chrono::year(1678) / 1 / 1) ||
      whole >= std::chrono::sys_days(std::chrono::year(2262) / 1 / 1)) {
    return InvalidArgument("time \"{}\" is outside the years 1678 to 2261", text.substr(0, 64));
  }
  return WallTime(whole) + Duration(*nanos);
}

std::string FormatAge(Duration age) {
  if (age < Duration::zero()) return "0s";
  for (const AgeStep& step : kAgeSteps) {
    if (age >= step.below) continue;
    std::string text = fmt::format("{}{}", age / step.unit, step.name);
    if (step.part > Duration::zero() && age % step.unit >= step.part) {
      text += fmt::format("{}{}", age % step.unit / step.part, step.part_name);
    }
    return text;
  }
  return "292y";  // Duration::max() itself
}

StatusOr<Duration> ParseDuration(std::string_view text) {
  const auto fault = [&] {
    return InvalidArgument("duration \"{}\" is not a number with a unit, as in 250ms, 30s or 1h30m",
                           text.substr(0, 64));
  };
  if (text == "0") return Duration::zero();
  if (text.empty()) return fault();
  Duration sum{};
  for (Scanner in(text); !in.empty();) {
    const std::string_view whole = in.TakeWhile(IsDigit);
    const std::string_view fraction = in.Skip(".") ? in.TakeWhile(IsDigit) : std::string_view();
    const auto unit = UnitOf(in.TakeWhile([](char c) { return !IsDigit(c) && c != '.'; }));
    if ((whole.empty() && fraction.empty()) || !unit) return fault();
    const auto next = AddPart(sum, whole, fraction, *unit);
    if (!next)
      return InvalidArgument("duration \"{}\" is longer than 292 years", text.substr(0, 64));
    sum = *next;
  }
  return sum;
}

}  // namespace galen
