// Results of checks as machines read them: JSON and JUnit's XML. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "checks/check.h"

namespace galen::checks {

// The number of checks with each verdict.
struct Tally {
  std::size_t good = 0, unknown = 0, warning = 0, bad = 0;

  std::size_t sum() const { return good + unknown + warning + bad; }
  Tally& operator+=(const Tally& other);
};
Tally Count(const std::vector<CheckResult>& results);

// [{"id", "group", "verdict", "severity", "expected", "seen", "means", "advice"}], without severity
// and means where a check has no meaning. `to_string` gives a level's name in this report.
Json ToJson(const std::vector<CheckResult>& results, std::string_view (*to_string)(Level));

// A thing that was examined, with its results.
struct Examined {
  std::string name;
  std::vector<CheckResult> results;
};
// JUnit's XML: a suite for each group of each that was examined. Bad is a failure; a warning passes
// with its text as output; what could not be looked at is "skipped" with its reason.
std::string ToJunit(std::string_view title, const std::vector<Examined>& all);

}  // namespace galen::checks
