#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "conformance/examination.h"

namespace galen::conformance {
namespace {

using checks::Tally;

constexpr std::string_view kIndent = "               ";  // below a check's sentence

std::string NameOf(const DriverReport& report) {
  return report.driver.empty() ? "a driver that does not answer" : Shown(report.driver);
}

std::string Line(const CheckResult& result) {
  const std::string head = fmt::format("  {:11}  {}", ToString(result.level), result.expected);
  switch (result.level) {
    case Level::kGood:
      return result.seen.empty() ? head + "\n" : fmt::format("{} ({})\n", head, result.seen);
    case Level::kUnknown:
      return fmt::format("{}: {}\n", head, result.seen);
    case Level::kWarning:
    case Level::kBad:
      break;
  }
  return fmt::format("{}\n{}seen:  {}\n{}do:    {}\n{}check: {}\n", head, kIndent, result.seen,
                     kIndent, result.advice, kIndent, result.id);
}

std::string Sum(const Tally& tally) {
  return fmt::format("{} checks: {} passed, {} failed, {} not checked\n", tally.sum(), tally.good,
                     tally.bad, tally.unknown);
}

// What was done to the driver, before what was seen.
std::string ModeLine(const DriverReport& report) {
  if (!report.read_only) return "full: this run was the driver's kubelet\n";
  return fmt::format("read-only, since {}: nothing was registered or prepared\n",
                     report.why_read_only);
}

// A group's lines. Checks that were not made for the same reason share one line: a read-only run
// has nineteen of them.
std::string GroupText(const std::vector<const CheckResult*>& group) {
  std::map<std::string_view, std::size_t> unchecked;  // how many, by reason
  for (const CheckResult* result : group) {
    if (result->level == Level::kUnknown) ++unchecked[result->seen];
  }
  std::string text;
  std::set<std::string_view> said;
  for (const CheckResult* result : group) {
    if (result->level != Level::kUnknown) {
      text += Line(*result);
    } else if (said.insert(result->seen).second) {
      const std::size_t more = unchecked[result->seen] - 1;
      std::string line = Line(*result);
      if (more > 0) line.insert(line.size() - 1, fmt::format(" (and {} more like it)", more));
      text += line;
    }
  }
  return text;
}

}  // namespace

Tally Count(const std::vector<DriverReport>& reports) {
  Tally sum;
  for (const DriverReport& report : reports) sum += checks::Count(report.results);
  return sum;
}

std::string TextReport(const std::vector<DriverReport>& reports) {
  std::string text;
  for (const DriverReport& report : reports) {
    text +=
        fmt::format("{}{} at {}\n", text.empty() ? "" : "\n", NameOf(report), Shown(report.socket));
    text += ModeLine(report);
    std::vector<const CheckResult*> group;
    for (const CheckResult& result : report.results) {
      if (!group.empty() && result.group() != group[0]->group()) {
        text += fmt::format("\n{}\n{}", group[0]->group(), GroupText(group));
        group.clear();
      }
      group.push_back(&result);
    }
    if (!group.empty()) text += fmt::format("\n{}\n{}", group[0]->group(), GroupText(group));
    text += "\n" + Sum(checks::Count(report.results));
    for (const std::string& left : report.left_behind) {
      text += fmt::format("left behind: {}\n", Shown(left));
    }
  }
  return text;
}

Json JsonReport(const std::vector<DriverReport>& reports) {
  Json::Array drivers;
  for (const DriverReport& report : reports) {
    Json::Array left_behind;
    for (const std::string& left : report.left_behind) left_behind.push_back(ToValidUtf8(left));
    drivers.push_back(Json::MakeObject({{"driver", ToValidUtf8(report.driver)},
                                        {"socket", ToValidUtf8(report.socket)},
                                        {"mode", report.read_only ? "read-only" : "full"},
                                        {"checks", checks::ToJson(report.results, ToString)},
                                        {"leftBehind", std::move(left_behind)}}));
  }
  const Tally tally = Count(reports);
  return Json::MakeObject({{"drivers", std::move(drivers)},
                           {"summary", Json::MakeObject({{"passed", tally.good},
                                                         {"failed", tally.bad},
                                                         {"notChecked", tally.unknown}})}});
}

std::string JunitReport(const std::vector<DriverReport>& reports) {
  std::vector<checks::Examined> drivers;
  for (const DriverReport& report : reports) {
    drivers.push_back({report.driver.empty() ? report.socket : report.driver, report.results});
  }
  return checks::ToJunit("galen conformance", drivers);
}

}  // namespace galen::conformance
