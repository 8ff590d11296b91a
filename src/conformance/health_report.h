// One message of a health stream as it lies on the wire, without a generated parser: that would
// refuse the whole message for what a check is here to name (a text that is no UTF-8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace galen::conformance {

struct DeviceHealthSeen {
  std::string pool, device, message;  // as they came
  std::int64_t health = 0;            // 0 unknown, 1 healthy, 2 unhealthy
  std::int64_t updated_unix_seconds = 0;
  std::int64_t timeout_seconds = 0;  // 0 or less: the reader's default

  bool operator==(const DeviceHealthSeen&) const = default;
  std::string Key() const { return pool + "/" + device; }
  // What a kubelet since 1.35 holds it to: its own timeout, or 30 s.
  Duration Timeout() const;
};

struct HealthReportSeen {
  Duration after{};  // since the stream was opened
  std::size_t bytes = 0;
  bool broken = false;  // no protobuf message, or a known field of another type
  std::vector<DeviceHealthSeen> devices;

  const DeviceHealthSeen* Find(std::string_view key) const;
};

// Devices beyond kDevicesMax are not kept; a report is at most 4 MiB, so that is never met by one
// that names its devices.
HealthReportSeen ReadHealthReport(std::string_view message);

}  // namespace galen::conformance
