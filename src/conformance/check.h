// The checks of a driver: what it should do, and the judgement of what was observed. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks/check.h"
#include "conformance/observations.h"

namespace galen::conformance {

using checks::CheckResult;
using checks::Level;
using checks::Outcome;
using Check = checks::Check<Observations>;

std::string_view ToString(Level level);  // "passed", "failed", "not checked"

Outcome Passed(std::string seen = "");
Outcome Failed(std::string seen);
// Never counts as passed.
Outcome NotChecked(std::string why);
Outcome PassedIf(bool good, std::string seen);

// By group, in the order in which people read them.
std::vector<Check> RegistrationChecks();
std::vector<Check> HealthChecks();
std::vector<Check> ClaimChecks();
std::vector<Check> CdiChecks();
std::vector<Check> SliceChecks();
std::vector<Check> AllChecks();

// Every check of AllChecks, in that order.
std::vector<CheckResult> Judge(const Observations& seen);

// "unavailable: the driver went away": the code, and the driver's text.
std::string ShownStatus(const Status& status);
// "2.0 ms", "15.0 s".
std::string ShownTime(Duration duration);

}  // namespace galen::conformance
