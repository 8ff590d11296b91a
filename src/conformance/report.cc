#include "conformance/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/data/xml.h"
#include "base/text.h"

namespace galen::conformance {
namespace {

constexpr std::string_view kIndent = "               ";  // below a check's sentence

std::string NameOf(const DriverReport& report) {
  return report.driver.empty() ? "a driver that does not answer" : Shown(report.driver);
}

std::string CheckName(const Finding& finding) {
  return finding.id.substr(finding.group().size() + 1);
}

std::string Line(const Finding& finding) {
  const std::string head = fmt::format("  {:11}  {}", ToString(finding.verdict), finding.expected);
  switch (finding.verdict) {
    case Verdict::kPassed:
      return finding.seen.empty() ? head + "\n" : fmt::format("{} ({})\n", head, finding.seen);
    case Verdict::kNotChecked:
      return fmt::format("{}: {}\n", head, finding.seen);
    case Verdict::kFailed:
      break;
  }
  return fmt::format("{}\n{}seen:  {}\n{}do:    {}\n{}check: {}\n", head, kIndent, finding.seen,
                     kIndent, finding.advice, kIndent, finding.id);
}

std::string Sum(const Tally& tally) {
  return fmt::format("{} checks: {} passed, {} failed, {} not checked\n",
                     tally.passed + tally.failed + tally.not_checked, tally.passed, tally.failed,
                     tally.not_checked);
}

Tally CountOf(const std::vector<Finding>& findings) {
  Tally tally;
  for (const Finding& finding : findings) {
    switch (finding.verdict) {
      case Verdict::kPassed:
        ++tally.passed;
        break;
      case Verdict::kFailed:
        ++tally.failed;
        break;
      case Verdict::kNotChecked:
        ++tally.not_checked;
        break;
    }
  }
  return tally;
}

std::string TestCase(const std::string& suite, const Finding& finding) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}")",
                                       EscapeXml(suite), EscapeXml(CheckName(finding)));
  switch (finding.verdict) {
    case Verdict::kPassed:
      return head + "/>\n";
    case Verdict::kNotChecked:
      return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head,
                         EscapeXml(finding.seen));
    case Verdict::kFailed:
      break;
  }
  return fmt::format(
      "{}>\n      <failure message=\"{}\">expected: {}\nseen: {}\ndo: {}</failure>\n"
      "    </testcase>\n",
      head, EscapeXml(finding.seen), EscapeXml(finding.expected), EscapeXml(finding.seen),
      EscapeXml(finding.advice));
}

// What was done to the driver, before what was seen.
std::string ModeLine(const DriverReport& report) {
  if (!report.read_only) return "full: this run was the driver's kubelet\n";
  return fmt::format("read-only, since {}: nothing was registered or prepared\n",
                     report.why_read_only);
}

// A group's lines. What was not checked for one and the same reason is one line: a run that only
// looks would say it nineteen times.
std::string GroupText(const std::vector<const Finding*>& group) {
  std::map<std::string_view, std::size_t> unchecked;  // how many, by reason
  for (const Finding* finding : group) {
    if (finding->verdict == Verdict::kNotChecked) ++unchecked[finding->seen];
  }
  std::string text;
  std::set<std::string_view> said;
  for (const Finding* finding : group) {
    if (finding->verdict != Verdict::kNotChecked) {
      text += Line(*finding);
    } else if (said.insert(finding->seen).second) {
      const std::size_t more = unchecked[finding->seen] - 1;
      std::string line = Line(*finding);
      if (more > 0) line.insert(line.size() - 1, fmt::format(" (and {} more like it)", more));
      text += line;
    }
  }
  return text;
}

}  // namespace

Tally Count(const std::vector<DriverReport>& reports) {
  Tally sum;
  for (const DriverReport& report : reports) {
    const Tally one = CountOf(report.findings);
    sum.passed += one.passed;
    sum.failed += one.failed;
    sum.not_checked += one.not_checked;
  }
  return sum;
}

std::string TextReport(const std::vector<DriverReport>& reports) {
  std::string text;
  for (const DriverReport& report : reports) {
    text +=
        fmt::format("{}{} at {}\n", text.empty() ? "" : "\n", NameOf(report), Shown(report.socket));
    text += ModeLine(report);
    std::vector<const Finding*> group;
    for (const Finding& finding : report.findings) {
      if (!group.empty() && finding.group() != group[0]->group()) {
        text += fmt::format("\n{}\n{}", group[0]->group(), GroupText(group));
        group.clear();
      }
      group.push_back(&finding);
    }
    if (!group.empty()) text += fmt::format("\n{}\n{}", group[0]->group(), GroupText(group));
    text += "\n" + Sum(CountOf(report.findings));
  }
  return text;
}

Json JsonReport(const std::vector<DriverReport>& reports) {
  Json::Array drivers;
  for (const DriverReport& report : reports) {
    Json::Array checks;
    for (const Finding& finding : report.findings) {
      checks.push_back(Json::MakeObject({{"id", finding.id},
                                         {"group", finding.group()},
                                         {"verdict", ToString(finding.verdict)},
                                         {"expected", finding.expected},
                                         {"seen", finding.seen},
                                         {"advice", finding.advice}}));
    }
    drivers.push_back(Json::MakeObject({{"driver", ToValidUtf8(report.driver)},
                                        {"socket", ToValidUtf8(report.socket)},
                                        {"mode", report.read_only ? "read-only" : "full"},
                                        {"checks", std::move(checks)}}));
  }
  const Tally tally = Count(reports);
  return Json::MakeObject({{"drivers", std::move(drivers)},
                           {"summary", Json::MakeObject({{"passed", tally.passed},
                                                         {"failed", tally.failed},
                                                         {"notChecked", tally.not_checked}})}});
}

std::string JunitReport(const std::vector<DriverReport>& reports) {
  std::string suites;
  for (const DriverReport& report : reports) {
    std::vector<std::pair<std::string, std::vector<Finding>>> groups;
    for (const Finding& finding : report.findings) {
      if (groups.empty() || groups.back().first != finding.group()) {
        groups.emplace_back(finding.group(), std::vector<Finding>());
      }
      groups.back().second.push_back(finding);
    }
    for (const auto& [group, findings] : groups) {
      const std::string suite =
          fmt::format("{}.{}", report.driver.empty() ? report.socket : report.driver, group);
      const Tally tally = CountOf(findings);
      suites += fmt::format(
          "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
          EscapeXml(suite), findings.size(), tally.failed, tally.not_checked);
      for (const Finding& finding : findings) suites += TestCase(suite, finding);
      suites += "  </testsuite>\n";
    }
  }
  const Tally tally = Count(reports);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"galen conformance\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "skipped=\"{}\">\n{}</testsuites>\n",
      tally.passed + tally.failed + tally.not_checked, tally.failed, tally.not_checked, suites);
}

}  // namespace galen::conformance
