// What an examination found, as people and machines read it. Pure.
#pragma once

#include <string>
#include <vector>

#include "checks/report.h"
#include "conformance/check.h"

namespace galen::conformance {

// One driver's results.
struct DriverReport {
  std::string driver;  // as it names itself; "" when it did not answer
  std::string socket;
  bool read_only = false;
  std::string why_read_only;  // a clause: "it was asked for", "a kubelet's sockets lie beside …"
  std::vector<CheckResult> results;
};

// Passed is good, failed is bad, not checked is unknown.
checks::Tally Count(const std::vector<DriverReport>& reports);

// Grouped, one line a check; a failed one is followed by what was seen and what to do.
std::string TextReport(const std::vector<DriverReport>& reports);
// {"drivers": [{"driver", "socket", "mode", "checks": [{"id", "group", "verdict", "expected",
// "seen", "advice"}]}], "summary": {"passed", "failed", "notChecked"}}
Json JsonReport(const std::vector<DriverReport>& reports);
// JUnit's XML: a suite for each driver's groups; what was not checked is "skipped" with its reason.
std::string JunitReport(const std::vector<DriverReport>& reports);

}  // namespace galen::conformance
