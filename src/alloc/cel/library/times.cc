#include <chrono>
#include <optional>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/literal.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

using std::chrono::days;
using std::chrono::seconds;

// "UTC", "+01:00", "-8:30", "02:00": seconds east of UTC. Names of places need a database that
// programs in containers seldom have.
std::optional<std::int64_t> OffsetOf(std::string_view zone) {
  if (zone == "UTC" || zone.empty()) return 0;
  const std::size_t colon = zone.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> hours = ReadInt(zone.substr(0, colon));
  const std::optional<std::int64_t> minutes = ReadInt(zone.substr(colon + 1));
  if (!hours || !minutes || *minutes < 0 || *minutes > 59 || *hours < -24 || *hours > 24) {
    return std::nullopt;
  }
  const bool west = zone.starts_with('-');
  return *hours * 3600 + (west ? -*minutes : *minutes) * 60;
}

// A timestamp as its date and time of day, where it was asked for.
struct Clock {
  std::chrono::sys_days day;
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<seconds> time;
  std::uint32_t nanoseconds;
};

template <typename Read>
Value Field(Arena& arena, Arguments arguments, Read read) {
  std::int64_t offset = 0;
  if (arguments.size() == 2) {
    const std::optional<std::int64_t> zone = OffsetOf(arguments[1].text());
    if (!zone) return arena.Fail("unknown time zone {}", arguments[1].text());
    offset = *zone;
  }
  const std::chrono::sys_time<seconds> moment{seconds(arguments[0].integer() + offset)};
  const std::chrono::sys_days day = std::chrono::floor<days>(moment);
  const Clock clock{day, std::chrono::year_month_day(day), std::chrono::hh_mm_ss(moment - day),
                    arguments[0].nanoseconds()};
  return Value::Int(static_cast<std::int64_t>(read(clock)));
}

constexpr std::int64_t kNanoPerMilli = 1'000'000;
constexpr std::int64_t kNanoPerSecond = 1000 * kNanoPerMilli;

bool IsDuration(Arguments arguments) { return arguments[0].is(Kind::kDuration); }

}  // namespace

Value FullYear(Arena& arena, Arguments arguments) {
  return Field(arena, arguments, [](const Clock& c) { return static_cast<int>(c.date.year()); });
}

Value Month(Arena& arena, Arguments arguments) {
  return Field(arena, arguments,
               [](const Clock& c) { return static_cast<unsigned>(c.date.month()) - 1; });
}

Value DayOfYear(Arena& arena, Arguments arguments) {
  return Field(arena, arguments, [](const Clock& c) {
    const std::chrono::sys_days first = c.date.year() / std::chrono::January / 1;
    return (c.day - first).count();
  });
}

Value DayOfMonth(Arena& arena, Arguments arguments) {
  return Field(arena, arguments,
               [](const Clock& c) { return static_cast<unsigned>(c.date.day()) - 1; });
}

Value Date(Arena& arena, Arguments arguments) {
  return Field(arena, arguments,
               [](const Clock& c) { return static_cast<unsigned>(c.date.day()); });
}

Value DayOfWeek(Arena& arena, Arguments arguments) {
  return Field(arena, arguments,
               [](const Clock& c) { return std::chrono::weekday(c.day).c_encoding(); });
}

Value Hours(Arena& arena, Arguments arguments) {
  if (IsDuration(arguments)) return Value::Int(arguments[0].integer() / (3600 * kNanoPerSecond));
  return Field(arena, arguments, [](const Clock& c) { return c.time.hours().count(); });
}

Value Minutes(Arena& arena, Arguments arguments) {
  if (IsDuration(arguments)) return Value::Int(arguments[0].integer() / (60 * kNanoPerSecond));
  return Field(arena, arguments, [](const Clock& c) { return c.time.minutes().count(); });
}

Value Seconds(Arena& arena, Arguments arguments) {
  if (IsDuration(arguments)) return Value::Int(arguments[0].integer() / kNanoPerSecond);
  return Field(arena, arguments, [](const Clock& c) { return c.time.seconds().count(); });
}

Value Milliseconds(Arena& arena, Arguments arguments) {
  if (IsDuration(arguments)) return Value::Int(arguments[0].integer() / kNanoPerMilli);
  return Field(arena, arguments, [](const Clock& c) { return c.nanoseconds / kNanoPerMilli; });
}

}  // namespace galen::alloc::cel
