// Shared by the judgements of health streams: which streams may be judged, and why not. Included
// only by the two files of checks, whose tests cover it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "conformance/check.h"

namespace galen::conformance {

inline constexpr Duration kFirstReportLimit = std::chrono::seconds(5);

// Checks of the reports' content; part of HealthChecks, which also have those of their timing.
std::vector<Check> HealthReportChecks();

inline bool Announces(const Observations& seen) {
  const Info& info = seen.registration.info.info;
  return info.Offers("v1.DRAResourceHealth") || info.Offers("v1alpha1.DRAResourceHealth");
}

// Why the first report is missing on a stream; "" when it is there and in time.
inline std::string Missing(const StreamSeen& stream) {
  if (stream.first_after && *stream.first_after <= kFirstReportLimit) return "";
  if (stream.first_after) return "the first report came after " + ShownTime(*stream.first_after);
  if (stream.end) return "the stream ended with " + ShownStatus(*stream.end);
  return "no report within " + ShownTime(stream.watched);
}

// A judgement of what the steady streams reported.
template <typename Judgement>
Outcome WithStreams(const Observations& seen, Judgement judge) {
  if (!seen.registration.info.answer.status.ok()) return NotChecked("GetInfo gave no answer");
  if (!Announces(seen)) return NotChecked("the driver announces no health service");
  return judge(seen.health.steady);
}

template <typename Judgement>
Outcome WithReports(const Observations& seen, Judgement judge) {
  return WithStreams(seen, [&](const std::vector<StreamSeen>& streams) {
    const bool any = std::any_of(streams.begin(), streams.end(),
                                 [](const StreamSeen& one) { return !one.reports.empty(); });
    return any ? judge(streams) : NotChecked("no report came");
  });
}

// Judges each device of each report; `fault` gives "" or what is wrong with it.
template <typename Fault>
Outcome EachDevice(const Observations& seen, Fault fault) {
  return WithReports(seen, [&](const std::vector<StreamSeen>& streams) {
    std::size_t count = 0;
    for (const StreamSeen& stream : streams) {
      for (const HealthReportSeen& report : stream.reports) {
        for (const DeviceHealthSeen& device : report.devices) {
          ++count;
          const std::string what = fault(device);
          if (what.empty()) continue;
          return Failed(fmt::format("{} on {}: {}", Shown(device.Key()), stream.version, what));
        }
      }
    }
    return count == 0 ? NotChecked("the reports name no device")
                      : Passed(Counted(count, "reported state"));
  });
}

}  // namespace galen::conformance
