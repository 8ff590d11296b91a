#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "conformance/health_judging.h"
#include "model/device.h"

namespace galen::conformance {
namespace {

constexpr std::size_t kMessageBytesMax = 1024;            // core/v1 ResourceHealthMessageMaxLength
constexpr std::size_t kReportBytesMax = 4 * 1024 * 1024;  // grpc-go's default, the kubelet's
// last_updated_time is in seconds; a larger difference means another unit or a wrong clock.
constexpr std::int64_t kClockSlackSeconds = 24 * 60 * 60;
constexpr std::size_t kReportsToJudgeMessages = 3;

Outcome JudgeFirstComplete(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    std::set<std::string> all;
    for (const StreamSeen& stream : streams) {
      for (const HealthReportSeen& report : stream.reports) {
        for (const DeviceHealthSeen& device : report.devices) all.insert(device.Key());
      }
    }
    if (all.empty()) return NotChecked("the reports name no device");
    for (const StreamSeen& stream : streams) {
      if (stream.reports.empty()) continue;
      for (const std::string& key : all) {
        if (stream.reports.front().Find(key) != nullptr) continue;
        return Failed(fmt::format("{} is missing in the first report of {} and is reported later",
                                  Shown(key), stream.version));
      }
    }
    return Passed(Counted(all.size(), "device"));
  });
}

Outcome JudgeAlike(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    if (streams.size() < 2) return NotChecked("only " + streams.front().version + " is announced");
    if (streams[0].reports.empty() || streams[1].reports.empty()) {
      return Failed(
          fmt::format("{} reports nothing", streams[0].reports.empty() ? "v1" : "v1alpha1"));
    }
    // The latest report of each version: a device may have changed between the two openings.
    const HealthReportSeen& a = streams[0].reports.back();
    const HealthReportSeen& b = streams[1].reports.back();
    if (a.devices.size() != b.devices.size()) {
      return Failed(
          fmt::format("v1 names {} devices, v1alpha1 {}", a.devices.size(), b.devices.size()));
    }
    for (const DeviceHealthSeen& device : a.devices) {
      const DeviceHealthSeen* other = b.Find(device.Key());
      if (other == nullptr || other->health != device.health || other->message != device.message ||
          other->timeout_seconds != device.timeout_seconds) {
        return Failed(fmt::format("{} differs between them", Shown(device.Key())));
      }
    }
    if (a.devices.empty()) return NotChecked("the reports name no device");
    return Passed(Counted(a.devices.size(), "device"));
  });
}

// Unknown fields are no fault: both sides may add fields.
Outcome JudgeWire(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    for (const StreamSeen& stream : streams) {
      for (const HealthReportSeen& report : stream.reports) {
        if (report.broken) return Failed(stream.version + ": a report that does not parse");
      }
    }
    return Passed();
  });
}

Outcome JudgeNamesInReports(const Observations& seen) {
  return EachDevice(seen, [&](const DeviceHealthSeen& device) {
    return Validate(DeviceId{seen.registration.info.info.name, device.pool, device.device})
        .message();
  });
}

Outcome JudgeDuplicates(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    std::size_t count = 0;
    for (const StreamSeen& stream : streams) {
      for (const HealthReportSeen& report : stream.reports) {
        std::set<std::string> known;
        for (const DeviceHealthSeen& device : report.devices) {
          ++count;
          if (!known.insert(device.Key()).second) {
            return Failed(fmt::format("{} is listed twice", Shown(device.Key())));
          }
        }
      }
    }
    return count == 0 ? NotChecked("the reports name no device") : Passed();
  });
}

Outcome JudgeStates(const Observations& seen) {
  return EachDevice(seen, [](const DeviceHealthSeen& device) {
    const bool known = device.health >= 0 && device.health <= 2;
    return known ? "" : fmt::format("health {}", device.health);
  });
}

Outcome JudgeTimeouts(const Observations& seen) {
  return EachDevice(seen, [](const DeviceHealthSeen& device) {
    return device.timeout_seconds >= 0 ? "" : fmt::format("{} s", device.timeout_seconds);
  });
}

Outcome JudgeUpdated(const Observations& seen) {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(seen.when.time_since_epoch()).count();
  return EachDevice(seen, [now](const DeviceHealthSeen& device) -> std::string {
    const std::int64_t updated = device.updated_unix_seconds;
    // An old time only means that the device has not changed for long; only the future is wrong.
    if (updated == 0 || (updated > 0 && updated <= now + kClockSlackSeconds)) return "";
    return fmt::format("last_updated_time {} where now is {}", updated, now);
  });
}

Outcome JudgeMessageBytes(const Observations& seen) {
  return EachDevice(seen, [](const DeviceHealthSeen& device) {
    const std::size_t bytes = device.message.size();
    return bytes <= kMessageBytesMax ? "" : fmt::format("a message of {} bytes", bytes);
  });
}

// Names count as well as messages: they are proto3 strings.
Outcome JudgeUtf8(const Observations& seen) {
  return EachDevice(seen, [](const DeviceHealthSeen& device) {
    for (const std::string& text : {device.pool, device.device, device.message}) {
      if (text != ToValidUtf8(text)) return fmt::format("\"{}\"", Shown(text));
    }
    return std::string();
  });
}

// Our own reader takes more than a kubelet, so that the cause can be shown instead of a broken
// stream.
Outcome JudgeReportBytes(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    std::size_t most = 0;
    for (const StreamSeen& stream : streams) {
      for (const HealthReportSeen& report : stream.reports) most = std::max(most, report.bytes);
    }
    return PassedIf(most <= kReportBytesMax, fmt::format("at most {} bytes", most));
  });
}

// Whether a device kept its state but had another message in each of its reports.
bool MessageNeverRests(const StreamSeen& stream, const std::string& key) {
  const DeviceHealthSeen* last = nullptr;
  std::size_t named = 0;
  for (const HealthReportSeen& report : stream.reports) {
    const DeviceHealthSeen* device = report.Find(key);
    if (device == nullptr) continue;
    ++named;
    if (last != nullptr && (device->health != last->health || device->message == last->message)) {
      return false;
    }
    last = device;
  }
  return named >= kReportsToJudgeMessages;
}

// A message may change with the state, and now and then without it; one that changes in every
// report is wrong.
Outcome JudgeMessageRests(const Observations& seen) {
  return WithReports(seen, [](const std::vector<StreamSeen>& streams) {
    std::size_t judged = 0;
    for (const StreamSeen& stream : streams) {
      if (stream.reports.size() < kReportsToJudgeMessages) continue;
      for (const DeviceHealthSeen& device : stream.reports.front().devices) {
        ++judged;
        if (!MessageNeverRests(stream, device.Key())) continue;
        return Failed(fmt::format("{} says \"{}\", and something else each time",
                                  Shown(device.Key()), Shown(device.message)));
      }
    }
    if (judged > 0) return Passed();
    return NotChecked(fmt::format("fewer than {} reports came while it was listened to",
                                  kReportsToJudgeMessages));
  });
}

}  // namespace

std::vector<Check> HealthReportChecks() {
  return {
      // dra-health/v1/api.proto: it should be a complete list for the driver.
      {"health.first-report-complete", "The first report names every device",
       "Send the complete list first: a device that is left out stays Unknown.",
       JudgeFirstComplete},
      // dra-health/v1/conversion.go: field for field the same.
      {"health.versions-alike", "v1 and v1alpha1 say the same",
       "Serve both from one source; the messages have the same fields.", JudgeAlike},
      // dra-health/v1/api.proto.
      {"health.wire", "Reports are messages of the published schema",
       "Generate the messages from k8s.io/kubelet/pkg/apis/dra-health.", JudgeWire},
      // The kubelet finds Pods by (pool, device); a name that no slice has finds none.
      {"health.names", "Devices bear the names of their ResourceSlices",
       "Set pool_name and device_name as published: DNS labels, in a pool's name joined by /.",
       JudgeNamesInReports},
      // healthinfo.go, updateHealthInfo: the last entry wins, in silence.
      {"health.no-duplicates", "A report names each device once",
       "Kubelets keep the last entry only: merge them before sending.", JudgeDuplicates},
      // manager.go, buildDeviceHealth: any other number is Unknown.
      {"health.states", "States are UNKNOWN, HEALTHY or UNHEALTHY",
       "Kubelets take any other number as Unknown.", JudgeStates},
      // manager.go, buildDeviceHealth: negative is logged and taken as 30 s.
      {"health.timeouts", "health_check_timeout_seconds is not negative",
       "Leave it at 0 for the kubelet's 30 s, or set whole seconds above.", JudgeTimeouts},
      // dra-health/v1/api.proto. Kubelets ignore it, people who read it do not.
      {"health.updated", "last_updated_time is in seconds and not ahead of the clock",
       "Write Unix seconds, not milli- or nanoseconds.", JudgeUpdated},
      // core/v1 ResourceHealthMessageMaxLength.
      {"health.message-bytes", "Messages have at most 1024 bytes",
       "Cut them yourself between code points; kubelets cut at byte 1021.", JudgeMessageBytes},
      // protobuf.dev: proto3 strings are UTF-8; grpc-go fails the whole message otherwise.
      {"health.utf8", "All texts are valid UTF-8",
       "Clean what hardware says: one bad byte makes the kubelet refuse the whole report and end "
       "the stream.",
       JudgeUtf8},
      // grpc-go: MaxCallRecvMsgSize is 4 MiB unless set, and the kubelet does not set it.
      {"health.report-bytes", "A report stays below 4 MiB",
       "Shorten messages when there are many devices: gRPC refuses larger ones.", JudgeReportBytes},
      // healthinfo.go: a change of the message writes the checkpoint and notifies Pods.
      {"health.message-rests", "A message stays the same while the state does",
       "Leave times and readings out of it: every new text writes the kubelet's checkpoint and "
       "the Pod's status.",
       JudgeMessageRests},
  };
}

}  // namespace galen::conformance
