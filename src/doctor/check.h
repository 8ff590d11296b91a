// A check: how a node should be, and the judgement of how it was seen to be. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/observations.h"

namespace galen::doctor {

// Unknown: it could not be looked at. Warning: it works now, and should be mended before it does
// not. Bad: something that people rely on does not work.
enum class Verdict { kHealthy, kUnknown, kWarning, kBad };
std::string_view ToString(Verdict verdict);  // "healthy", "unknown", "warning", "bad"

// What came of one check. `seen` is what was observed, or why nothing could be.
struct Outcome {
  Verdict verdict = Verdict::kUnknown;
  std::string seen;
};
Outcome Healthy(std::string seen = "");
Outcome Warning(std::string seen);
Outcome Bad(std::string seen);
Outcome Unknown(std::string why);
// Unknown with the reason of what could not be looked at.
Outcome Unknown(const Status& why);
// `found` when there is something, else healthy.
Outcome Judged(Verdict when_found, const std::vector<std::string>& found, std::string healthy = "");

// `id` is "<group>.<name>" and stays the same over versions: people filter by it.
struct Check {
  std::string_view id;
  Verdict severity = Verdict::kBad;  // the worst that it can say
  std::string_view expected;         // one sentence of how it should be
  std::string_view means;            // what it means that it is not
  std::string_view advice;           // what to do then
  Outcome (*judge)(const Observations&);
};

// A check with its outcome, for a report.
struct Finding {
  std::string id;
  Verdict verdict = Verdict::kUnknown;
  Verdict severity = Verdict::kBad;
  std::string expected, seen, means, advice;

  std::string_view group() const;  // the part of the id before its dot
};

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
std::vector<Check> AllChecks();

// Every check of AllChecks, in that order.
std::vector<Finding> Judge(const Observations& seen);

// "1.2 s", "45 s", "3m12s".
std::string ShownTime(Duration duration);
// The first few, and how many more there are.
std::string Listed(const std::vector<std::string>& items);

}  // namespace galen::doctor
