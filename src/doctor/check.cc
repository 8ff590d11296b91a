#include "doctor/check.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace galen::doctor {
namespace {

// the rest is only counted: a person fixes one after the other
constexpr std::size_t kListedMax = 4;

}  // namespace

std::string_view ToString(Level level) {
  switch (level) {
    case Level::kGood:
      return "healthy";
    case Level::kUnknown:
      return "unknown";
    case Level::kWarning:
      return "warning";
    case Level::kBad:
      return "bad";
  }
  GALEN_UNREACHABLE();
}

Outcome Healthy(std::string seen) { return {Level::kGood, std::move(seen)}; }
Outcome Warning(std::string seen) { return {Level::kWarning, std::move(seen)}; }
Outcome Bad(std::string seen) { return {Level::kBad, std::move(seen)}; }
Outcome Unknown(std::string why) { return {Level::kUnknown, std::move(why)}; }
Outcome Unknown(const Status& why) { return Unknown(Shown(why.message())); }
Outcome Judged(Level when_found, const std::vector<std::string>& found, std::string healthy) {
  return found.empty() ? Healthy(std::move(healthy)) : Outcome{when_found, Listed(found)};
}

std::vector<Check> AllChecks() {
  std::vector<Check> all;
  for (const auto& group :
       {ApiChecks(), KubeletChecks(), GateChecks(), DriverChecks(), SliceChecks(), ClaimChecks(),
        CdiChecks(), AgentChecks(), HostChecks(), VersionChecks(), PracticeChecks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

std::vector<CheckResult> Judge(const Observations& seen) {
  return checks::JudgeAll(AllChecks(), seen);
}

std::string ShownTime(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  return FormatAge(duration);
}

std::string Listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < kListedMax; ++i) {
    text += (i == 0 ? "" : "; ") + items[i];
  }
  if (items.size() > kListedMax) text += fmt::format("; and {} more", items.size() - kListedMax);
  return text;
}

}  // namespace galen::doctor
