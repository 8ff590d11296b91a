#include "conformance/check.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace galen::conformance {
std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kNotChecked:
      return "not checked";
  }
  GALEN_UNREACHABLE();
}

Outcome Passed(std::string seen) { return {Verdict::kPassed, std::move(seen)}; }
Outcome Failed(std::string seen) { return {Verdict::kFailed, std::move(seen)}; }
Outcome NotChecked(std::string why) { return {Verdict::kNotChecked, std::move(why)}; }
Outcome PassedIf(bool good, std::string seen) {
  return good ? Passed(std::move(seen)) : Failed(std::move(seen));
}

std::string_view Finding::group() const { return std::string_view(id).substr(0, id.find('.')); }

std::vector<Check> AllChecks() {
  std::vector<Check> all;
  for (const auto& group :
       {RegistrationChecks(), HealthChecks(), ClaimChecks(), CdiChecks(), SliceChecks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

std::vector<Finding> Judge(const Observations& seen) {
  std::vector<Finding> findings;
  for (const Check& check : AllChecks()) {
    Outcome outcome = check.judge(seen);
    findings.push_back({.id = std::string(check.id),
                        .expected = std::string(check.expected),
                        .verdict = outcome.verdict,
                        .seen = std::move(outcome.seen),
                        .advice = std::string(check.advice)});
  }
  return findings;
}

std::string ShownStatus(const Status& status) {
  return fmt::format("{}: {}", ToString(status.code()), Shown(status.message()));
}

std::string ShownTime(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.1f} ms", seconds * 1000);
}

}  // namespace galen::conformance
