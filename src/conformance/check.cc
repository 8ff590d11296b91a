#include "conformance/check.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace galen::conformance {
std::string_view ToString(Level level) {
  switch (level) {
    case Level::kGood:
      return "passed";
    case Level::kWarning:  // no check of a driver gives it
    case Level::kBad:
      return "failed";
    case Level::kUnknown:
      return "not checked";
  }
  GALEN_UNREACHABLE();
}

Outcome Passed(std::string seen) { return {Level::kGood, std::move(seen)}; }
Outcome Failed(std::string seen) { return {Level::kBad, std::move(seen)}; }
Outcome NotChecked(std::string why) { return {Level::kUnknown, std::move(why)}; }
Outcome PassedIf(bool good, std::string seen) {
  return good ? Passed(std::move(seen)) : Failed(std::move(seen));
}

std::vector<Check> AllChecks() {
  std::vector<Check> all;
  for (const auto& group :
       {RegistrationChecks(), HealthChecks(), ClaimChecks(), CdiChecks(), SliceChecks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

std::vector<CheckResult> Judge(const Observations& seen) {
  return checks::JudgeAll(AllChecks(), seen);
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
