// A check: what a driver should do, and the judgement of what it was seen doing. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/observations.h"

namespace galen::conformance {

enum class Verdict { kPassed, kFailed, kNotChecked };
std::string_view ToString(Verdict verdict);  // "passed", "failed", "not checked"

// What came of one check. `seen` is what was observed, or why nothing could be.
struct Outcome {
  Verdict verdict = Verdict::kNotChecked;
  std::string seen;
};
Outcome Passed(std::string seen = "");
Outcome Failed(std::string seen);
// Never counts as passed.
Outcome NotChecked(std::string why);
Outcome PassedIf(bool good, std::string seen);

// `id` is "<group>.<name>" and stays the same over versions: people filter by it.
struct Check {
  std::string_view id;
  std::string_view expected;  // one sentence of what a conforming driver does
  std::string_view advice;    // what its author can do when it does not
  Outcome (*judge)(const Observations&);
};

// A check with its outcome, for a report.
struct Finding {
  std::string id;
  std::string expected;
  Verdict verdict = Verdict::kNotChecked;
  std::string seen;
  std::string advice;

  std::string_view group() const;  // the part of the id before its dot
};

// By group, in the order in which people read them.
std::vector<Check> RegistrationChecks();
std::vector<Check> HealthChecks();
std::vector<Check> ClaimChecks();
std::vector<Check> CdiChecks();
std::vector<Check> SliceChecks();
std::vector<Check> AllChecks();

// Every check of AllChecks, in that order.
std::vector<Finding> Judge(const Observations& seen);

// "unavailable: the driver went away": the code, and what a driver wrote.
std::string ShownStatus(const Status& status);
// "2.0 ms", "15.0 s".
std::string ShownTime(Duration duration);

}  // namespace galen::conformance
