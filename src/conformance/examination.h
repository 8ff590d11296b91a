// The examination of one driver from beginning to end: finds it, does what a kubelet would do, in
// an order in which no part spoils another, and reports what was observed.
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
// ("" = kKubeletRoot). In a directory, plugins of another type than DRAPlugin are left out. Each is
// asked GetInfo. NotFound or Unavailable: there is no driver to examine.
StatusOr<std::vector<RegistrationSeen>> FindTargets(const Edges& edges, const std::string& what,
                                                    const std::string& kubelet_root);

// Why this registry directory seems to be in use, as a clause ("…, since a kubelet's sockets lie
// beside it"); empty when it does not: it is the kubelet's usual one, a kubelet's own sockets lie
// beside it, or a running galen-agent holds its flock(2).
std::string UserOf(const std::string& registry);

// Which driver is examined, and with which limits.
struct ExaminationOptions {
  // The result of finding the driver: socket, info, twins, kubelet_root.
  RegistrationSeen found;
  // Does only what cannot disturb a driver that a kubelet uses: GetInfo, one health stream for each
  // version, slices and files. Nothing is notified, prepared or crowded.
  bool read_only = false;
  std::vector<std::string> cdi_directories;
  std::string node;                              // "" = found out from slices and reports
  std::string ns = "default";                    // for test claims
  Duration patience = std::chrono::seconds(60);  // how long repetitions of health are waited for
};

// When it returns, test claims are removed, or are named in left_behind.
Observations Examine(const Edges& edges, const ExaminationOptions& options);

// ---- What an examination found, as people and machines read it (report.cc). Pure.

// One driver's results.
struct DriverReport {
  std::string driver;  // as it names itself; "" when it did not answer
  std::string socket;
  bool read_only = false;
  std::string why_read_only;  // a clause: "it was asked for", "a kubelet's sockets lie beside …"
  std::vector<CheckResult> results;
  std::vector<std::string> left_behind;  // what the examination could not remove
};

// Passed is good, failed is bad, not checked is unknown.
checks::Tally Count(const std::vector<DriverReport>& reports);

// Grouped, one line for each check; a failed one is followed by what was observed and what to do.
// Last comes what was left behind.
std::string TextReport(const std::vector<DriverReport>& reports);
// {"drivers": [{"driver", "socket", "mode", "checks": [{"id", "group", "verdict", "expected",
// "seen", "advice"}], "leftBehind"}], "summary": {"passed", "failed", "notChecked"}}
Json JsonReport(const std::vector<DriverReport>& reports);
// JUnit's XML: a suite for each driver's groups; unchecked items are "skipped" with the reason.
std::string JunitReport(const std::vector<DriverReport>& reports);

}  // namespace galen::conformance
