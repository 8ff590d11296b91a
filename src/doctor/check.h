// The checks of a node: how it should be, and the judgement of what was observed. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks/check.h"
#include "doctor/observations.h"

namespace galen::doctor {

using checks::CheckResult;
using checks::Level;
using checks::Outcome;
using Check = checks::Check<Observations>;

std::string_view ToString(Level level);  // "healthy", "unknown", "warning", "bad"

Outcome Healthy(std::string seen = "");
Outcome Warning(std::string seen);
Outcome Bad(std::string seen);
Outcome Unknown(std::string why);
// Unknown, with the reason why something could not be looked at.
Outcome Unknown(const Status& why);
// `found` as a finding if it is not empty, else healthy.
Outcome Judged(Level when_found, const std::vector<std::string>& found, std::string healthy = "");

// By group, in the order in which people read them.
std::vector<Check> ApiChecks();
std::vector<Check> KubeletChecks();
std::vector<Check> GateChecks();
std::vector<Check> DriverChecks();
std::vector<Check> SliceChecks();
std::vector<Check> ClaimChecks();
std::vector<Check> CdiChecks();
std::vector<Check> AgentChecks();
std::vector<Check> HostChecks();
std::vector<Check> VersionChecks();
std::vector<Check> PracticeChecks();
std::vector<Check> AllChecks();

// Every check of AllChecks, in that order.
std::vector<CheckResult> Judge(const Observations& seen);

// "1.2 s", "45 s", "3m12s".
std::string ShownTime(Duration duration);
// The first few, and how many more there are.
std::string Listed(const std::vector<std::string>& items);

}  // namespace galen::doctor
