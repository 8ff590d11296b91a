#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "conformance/health_judging.h"

namespace galen::conformance {
namespace {

// Galen's own bound: every report takes the kubelet's lock over all claims of the node.
constexpr double kReportsPerSecondMax = 10;
constexpr Duration kRateWatchedLeast = std::chrono::seconds(1);

// A check that disturbs other subscribers' streams, so not made while a kubelet reads.
template <typename Judgement>
Outcome Disturbing(const Observations& seen, Judgement judge) {
  return WithStreams(seen, [&](const std::vector<StreamSeen>&) {
    if (seen.read_only) {
      return NotChecked("read-only: a driver that serves one reader only would drop the kubelet's");
    }
    const bool reported = std::any_of(seen.health.steady.begin(), seen.health.steady.end(),
                                      [](const StreamSeen& one) { return one.report_count > 0; });
    return reported ? judge(seen.health) : NotChecked("no report came, not even to one reader");
  });
}

// Judges a stream that was opened after another one was cancelled or cut.
Outcome JudgeReported(const std::optional<StreamSeen>& stream) {
  if (!stream) return NotChecked("nobody listens at the endpoint");
  const std::string missing = Missing(*stream);
  return missing.empty() ? Passed(ShownTime(*stream->first_after)) : Failed(missing);
}

// A stream that was pushed out after its first report counts as not served: a kubelet's would be,
// too.
Outcome JudgeAllReported(const std::vector<StreamSeen>& streams) {
  if (streams.empty()) return NotChecked("nobody listens at the endpoint");
  std::string missing;
  std::size_t reported = 0;
  for (const StreamSeen& stream : streams) {
    std::string why = Missing(stream);
    if (why.empty() && stream.end) why = "one ended with " + ShownStatus(*stream.end);
    reported += why.empty() ? 1 : 0;
    if (missing.empty()) missing = std::move(why);
  }
  const std::string count = fmt::format("{} of {} got a report", reported, streams.size());
  return missing.empty() ? Passed(count) : Failed(count + "; " + missing);
}

Outcome JudgeHealthServed(const Observations& seen) {
  return WithStreams(seen, [](const std::vector<StreamSeen>& streams) {
    std::vector<std::string> served;
    for (const StreamSeen& stream : streams) {
      if (stream.end && stream.end->code() == Code::kUnimplemented) {
        return Failed(fmt::format("{} is announced and answers {}", stream.version,
                                  ShownStatus(*stream.end)));
      }
      served.push_back(stream.version);
    }
    return Passed(fmt::format("{}", fmt::join(served, ", ")));
  });
}

// A driver without health at all passes: kubelets before 1.37 ask it, and get UNIMPLEMENTED.
Outcome JudgeAnnounced(const Observations& seen) {
  if (!seen.registration.info.answer.status.ok()) return NotChecked("GetInfo gave no answer");
  if (seen.health.unannounced.empty()) return NotChecked("every version is announced");
  for (const auto& [version, status] : seen.health.unannounced) {
    if (status.ok()) return Failed(fmt::format("{} is served and not announced", version));
  }
  return Passed("what is not announced is not there");
}

Outcome JudgeFirst(const Observations& seen) {
  return WithStreams(seen, [](const std::vector<StreamSeen>& streams) {
    Duration slowest{};
    for (const StreamSeen& stream : streams) {
      const std::string missing = Missing(stream);
      if (!missing.empty()) return Failed(stream.version + ": " + missing);
      slowest = std::max(slowest, *stream.first_after);
    }
    return Passed(ShownTime(slowest));
  });
}

// The longest time for which a stream did not name `device`, from its first report until we stopped
// listening.
Duration LongestSilence(const StreamSeen& stream, const std::string& key) {
  Duration longest{}, last = stream.reports.front().after;
  for (const HealthReportSeen& report : stream.reports) {
    if (report.Find(key) == nullptr) continue;
    longest = std::max(longest, report.after - last);
    last = report.after;
  }
  return std::max(longest, stream.watched - last);
}

Outcome JudgeResend(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    Duration longest{}, unrepeated{};
    std::size_t judged = 0;
    for (const StreamSeen& stream : streams) {
      // A stream that ended is judged by another check.
      if (stream.reports.empty() || stream.end) continue;
      // A driver that floods has repeated; reports that were not kept cannot be timed.
      if (stream.report_count > StreamSeen::kReportsKept) return Passed("without end");
      for (const DeviceHealthSeen& device : stream.reports.front().devices) {
        ++judged;
        const Duration silence = LongestSilence(stream, device.Key());
        if (silence > device.Timeout()) {
          return Failed(fmt::format("{} on {}: silent for {}, its timeout is {}",
                                    Shown(device.Key()), stream.version, ShownTime(silence),
                                    ShownTime(device.Timeout())));
        }
        longest = std::max(longest, silence);
        const bool again =
            std::any_of(stream.reports.begin() + 1, stream.reports.end(),
                        [&](const auto& report) { return report.Find(device.Key()) != nullptr; });
        if (!again) unrepeated = std::max(unrepeated, device.Timeout());
      }
    }
    if (unrepeated > Duration::zero()) {
      return NotChecked(fmt::format("a timeout of {} did not pass: --patience listens longer",
                                    ShownTime(unrepeated)));
    }
    if (judged == 0) return NotChecked("no stream that stayed open named a device");
    return Passed("longest silence " + ShownTime(longest));
  });
}

// A clean end harms the Pods as much as a broken one.
Outcome JudgeStaysOpen(const Observations& seen) {
  return WithStreams(seen, [](const std::vector<StreamSeen>& streams) {
    Duration watched{};
    for (const StreamSeen& stream : streams) {
      if (stream.end) {
        return Failed(fmt::format("{} ended after {} with {}", stream.version,
                                  ShownTime(stream.watched), ShownStatus(*stream.end)));
      }
      watched = std::max(watched, stream.watched);
    }
    return Passed("open for " + ShownTime(watched));
  });
}

// Measured over at least a second: a burst at the start is no flood.
Outcome JudgeRate(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    double most = 0;
    for (const StreamSeen& stream : streams) {
      const Duration watched = std::max(stream.watched, kRateWatchedLeast);
      most = std::max(most, static_cast<double>(stream.report_count) /
                                std::chrono::duration<double>(watched).count());
    }
    return PassedIf(most <= kReportsPerSecondMax, fmt::format("{:.2f} a second", most));
  });
}

Outcome JudgeCrowd(const Observations& seen) {
  return Disturbing(seen, [](const HealthSeen& health) { return JudgeAllReported(health.crowd); });
}
Outcome JudgeShared(const Observations& seen) {
  return Disturbing(seen, [](const HealthSeen& health) { return JudgeAllReported(health.shared); });
}
Outcome JudgeHealthUnknownField(const Observations& seen) {
  return Disturbing(
      seen, [](const HealthSeen& health) { return JudgeReported(health.with_unknown_field); });
}
Outcome JudgeCancel(const Observations& seen) {
  return Disturbing(seen,
                    [](const HealthSeen& health) { return JudgeReported(health.after_cancel); });
}
Outcome JudgeBreak(const Observations& seen) {
  return Disturbing(seen,
                    [](const HealthSeen& health) { return JudgeReported(health.after_break); });
}

}  // namespace

std::vector<Check> HealthChecks() {
  std::vector<Check> checks = {
      // PR 139477: UNIMPLEMENTED ends the watch for good; before, it was tried for ever.
      {"health.served", "Every announced health service is served",
       "Do not announce what answers UNIMPLEMENTED: kubelet 1.36 asks every 5 s for ever, 1.37 "
       "never again.",
       JudgeHealthServed},
      // dra_plugin_manager.go of 1.37, pickHealthService: only what is announced is opened.
      {"health.announced", "No health service is served without being announced",
       "Add it to supported_versions: kubelets since 1.37 open only what is announced.",
       JudgeAnnounced},
      // KEP-4680: until a report comes, getHealthInfo answers Unknown.
      {"health.first-report", "A new stream brings a report within 5 s",
       "Send the present state at once when a stream opens; until then every Pod's device is "
       "Unknown.",
       JudgeFirst},
      // healthinfo.go, getHealthInfo: older than its timeout (or 30 s) reads Unknown.
      {"health.resend", "Every device is reported again within its timeout",
       "Send the list again by half of the shortest timeout: 15 s for the default of 30 s.",
       JudgeResend},
      // manager.go, HandleWatchResourcesStream: every exit clears all health of the driver.
      {"health.stays-open", "The stream stays open",
       "Return from NodeWatchResources only when the reader cancels or the driver stops; each end "
       "makes every device Unknown for 5 s or more.",
       JudgeStaysOpen},
      // manager.go: each report takes the claim cache's lock; a change syncs whole Pods.
      {"health.rate", "Fewer than ten reports come a second",
       "Merge changes; every report locks the kubelet's claims and syncs Pods.", JudgeRate},
      // NodeWatchResourcesRequest is empty today: a later kubelet may ask for something.
      {"health.unknown-field", "NodeWatchResources takes a request with a field of a later version",
       "Skip unknown fields, as proto3 readers do.", JudgeHealthUnknownField},
      // A kubelet, one that is being replaced, and agents such as ours listen side by side.
      {"health.many-subscribers", "Eight readers at once each get the full stream",
       "Keep a list of subscribers and give each its own queue; a kubelet and an agent read side "
       "by side.",
       JudgeCrowd},
      // Issue 133943: health and claims share one connection since 1.35.
      {"health.shared-connection", "Two streams on one connection each get the report",
       "Do not key subscribers by connection: kubelets use one for all calls.", JudgeShared},
      // DeRegisterPlugin cancels the stream, and a registration soon after opens the next.
      {"health.after-cancel", "A reader that cancelled is served again",
       "Drop a subscriber when its context ends, and nothing else.", JudgeCancel},
      // The kubelet opens a stream again 5 s after it was lost (wait.UntilWithContext).
      {"health.after-break", "A reader whose connection broke is served again",
       "Expect sends to fail; a killed kubelet comes back on a new connection.", JudgeBreak},
  };
  const std::vector<Check> contents = HealthReportChecks();
  // After the checks of the first report.
  checks.insert(checks.begin() + 3, contents.begin(), contents.end());
  return checks;
}

}  // namespace galen::conformance
