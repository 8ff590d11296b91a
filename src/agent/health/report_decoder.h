// Turns a driver's health report into values we can trust: names checked, texts cut and made
// printable, times kept plausible, numbers bounded. Pure; fit for hostile input.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/health.h"

namespace galen::agent {

// What a driver reports of a device beyond its health; each "" when it does not. Only drivers made
// with Galen's own SDK report any.
struct DeviceFacts {
  std::string serial;
  std::string model;
  std::string sign;  // the raw sign, for people: "kernel log: Xid 79 on 0000:4b:00.0"
  // From health sources only.
  std::string uuid, pci_address;

  bool operator==(const DeviceFacts&) const = default;
};

// What was wrong with a report, counted, for the log and the metrics. The rest of the report is
// taken: a fault of one device does not cost another its report.
struct ReportFaults {
  std::size_t invalid = 0;            // devices left out: names that Kubernetes would not take
  std::size_t repeated = 0;           // devices named twice: the last counts
  std::size_t over_limit = 0;         // devices left out: past kDevicesPerReportMax
  std::size_t broken = 0;             // devices left out: not decodable
  std::size_t negative_timeouts = 0;  // read as "not given"
  std::size_t cut = 0;                // texts that were too long
  std::string example;                // the first fault, as a sentence

  bool any() const {
    return invalid + repeated + over_limit + broken + negative_timeouts + cut > 0;
  }
};

// A report as values that may be kept and shown: every id is valid, every text printable and
// bounded, every share from 0 to 1.
struct DecodedReport {
  // `since` of a device is the time of its sign; the epoch when the driver gave none.
  HealthReport report;
  std::map<DeviceId, DeviceFacts> facts;
  ReportFaults faults;
  // Whether it holds until the next report, however late: the reporter itself keeps the deadlines.
  bool lasting = false;
  // Whether it continues a report that is taken in parts, and so is not counted again.
  bool continues = false;
  // Whether further parts of it follow.
  bool more = false;
};

// At the limit the rest is counted and left out.
inline constexpr std::size_t kDevicesPerReportMax = kNodeDevicesMax;
// As Kubernetes' ResourceHealth.message.
inline constexpr std::size_t kReportedMessageBytesMax = 1024;
// A serial, model, code, value, …
inline constexpr std::size_t kFactBytesMax = 128;

// Decodes a report in steps, for a loop that has others to serve. As DecodeReport, which is all its
// steps at once. Pure.
class ReportReader {
 public:
  // `bytes` are borrowed until the last step.
  ReportReader(const std::string& driver, std::string_view bytes, WallTime now);
  ReportReader(ReportReader&&) noexcept;
  ReportReader& operator=(ReportReader&&) noexcept;
  ~ReportReader();

  // Reads `devices` more at most. True when that was the last step.
  bool Step(std::size_t devices);
  // Once, after the last step.
  StatusOr<DecodedReport> Take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// `bytes` is a NodeWatchResourcesResponse, of v1 or v1alpha1: both have the same fields.
// InvalidArgument when it is no such message at all. `now` bounds the times a driver may claim.
StatusOr<DecodedReport> DecodeReport(const std::string& driver, std::string_view bytes,
                                     WallTime now);

}  // namespace galen::agent
