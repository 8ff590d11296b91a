// The examination of one driver from beginning to end: which one, what a kubelet would do with it,
// in an order in which no part spoils another, what was seen, and the report of it.
#pragma once

#include <string>
#include <vector>

#include "checks/report.h"
#include "conformance/check.h"
#include "conformance/link.h"

namespace galen::conformance {

// ---- Which drivers to examine: the sockets of a registry directory, one socket, or a driver's
// name (target.cc).

inline constexpr std::string_view kKubeletRoot = "/var/lib/kubelet";

// `what` is a directory, a socket's path, or the name of a driver in the registry of `kubelet_root`
// ("" = kKubeletRoot). In a directory, plugins that say they are of another type than DRAPlugin are
// left out. Each is asked GetInfo. NotFound, Unavailable: there is nobody to examine.
StatusOr<std::vector<RegistrationSeen>> FindTargets(const Edges& edges, const std::string& what,
                                                    const std::string& kubelet_root);

// Who uses the drivers of this registry directory, as a clause ("…, since a kubelet's sockets lie
// beside it"); empty when nobody is seen to. It is the kubelet's usual one, a kubelet's own sockets
// lie beside it, or an agent of ours holds it by flock(2), as each does that runs.
std::string UserOf(const std::string& registry);

// Which driver is examined, and how far that may go.
struct ExaminationOptions {
  // What finding the driver showed: socket, info, twins, kubelet_root.
  RegistrationSeen found;
  // Only what a driver that a kubelet uses does not feel: GetInfo, one health stream a version,
  // slices and files. Nothing is notified, prepared or crowded.
  bool read_only = false;
  std::vector<std::string> cdi_directories;
  std::string node;                              // "" = found out from slices and reports
  std::string ns = "default";                    // where test claims are made
  Duration patience = std::chrono::seconds(60);  // how long repetitions of health are waited for
};

// Test claims are gone when it returns, or are named in what it left behind.
Observations Examine(const Edges& edges, const ExaminationOptions& options);

// ---- What an examination found, as people and machines read it (report.cc). Pure.

// One driver's results.
struct DriverReport {
  std::string driver;  // as it names itself; "" when it did not answer
  std::string socket;
  bool read_only = false;
  std::string why_read_only;  // a clause: "it was asked for", "a kubelet's sockets lie beside …"
  std::vector<CheckResult> results;
  std::vector<std::string> left_behind;  // what the examination could not put away
};

// Passed is good, failed is bad, not checked is unknown.
checks::Tally Count(const std::vector<DriverReport>& reports);

// Grouped, one line a check; a failed one is followed by what was seen and what to do. Last comes
// what was left behind.
std::string TextReport(const std::vector<DriverReport>& reports);
// {"drivers": [{"driver", "socket", "mode", "checks": [{"id", "group", "verdict", "expected",
// "seen", "advice"}], "leftBehind"}], "summary": {"passed", "failed", "notChecked"}}
Json JsonReport(const std::vector<DriverReport>& reports);
// JUnit's XML: a suite for each driver's groups; what was not checked is "skipped" with its reason.
std::string JunitReport(const std::vector<DriverReport>& reports);

}  // namespace galen::conformance
