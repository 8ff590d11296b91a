// Two clocks, kept apart by type. Time decides (deadlines, delays); WallTime is only printed or
// written down. Neither is read here: a Loop hands them out. The functions are pure and know no
// time zone but UTC.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen {

// Signed, about 292 years either way.
using Duration = std::chrono::nanoseconds;
// Monotonic, since boot on Linux; means nothing in another process or after a restart. Time::max()
// is "never".
using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// Since 1970 in UTC, for the years 1678 to 2261.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// RFC 3339 in UTC with as many digits after the second as are asked for (0, 3, 6 or 9), finer ones
// cut: "2026-11-21T14:02:11Z", "2026-11-21T14:02:11.304Z". Kubernetes writes seconds for
// metav1.Time and microseconds for metav1.MicroTime.
std::string FormatRfc3339(WallTime time, int digits = 0);

// Reads any RFC 3339 time with an offset; finer than nanoseconds is cut. A leap second reads as the
// second after it. InvalidArgument for anything else and for years outside 1678 to 2261.
StatusOr<WallTime> ParseRfc3339(std::string_view text);

// How long ago in the way kubectl says it: "38s", "6m30s", "3h5m", "3d4h". Negative reads as "0s":
// clocks of two machines differ a little.
std::string FormatAge(Duration age);

// A duration in the way people write it in flags and files: "250ms", "30s", "5m", "1h30m", "1.5h".
// As Go's time.ParseDuration, with "d" for 24 hours and without a sign; "0" needs no unit.
// InvalidArgument for anything else and for more than 292 years.
StatusOr<Duration> ParseDuration(std::string_view text);

}  // namespace galen
