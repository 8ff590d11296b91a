// What an examination found, as text, JSON and JUnit XML. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "checks/report.h"
#include "doctor/check.h"

namespace galen::doctor {

struct Report {
  std::string node;
  std::string kubelet_root;
  WallTime when{};
  std::vector<CheckResult> results;
};

// Healthy is good.
checks::Tally Count(const Report& report);

// How the report is written for people.
struct TextOptions {
  bool wide = false;        // also lists healthy checks, a line each
  std::size_t columns = 0;  // the width for wrapping; 0 = no wrapping
};
// Bad first, then warnings, each with what was observed, what it means and what to do; then what
// could not be looked at, and the totals.
std::string TextReport(const Report& report, const TextOptions& options);
// {"node", "kubeletRoot", "time", "checks": [{"id", "group", "verdict", "severity", "expected",
// "seen", "means", "advice"}], "summary": {"bad", "warning", "unknown", "healthy"}}
Json JsonReport(const Report& report);
// JUnit's XML: a suite for each group. Bad is a failure; a warning passes with its text as output;
// what could not be looked at is "skipped" with its reason.
std::string JunitReport(const Report& report);

}  // namespace galen::doctor
