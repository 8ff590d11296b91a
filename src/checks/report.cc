#include "checks/report.h"

#include <fmt/format.h>

#include "base/data/xml.h"
#include "base/text.h"

namespace galen::checks {
namespace {

// The text inside the <testcase>; "" for a good result.
std::string TestBody(const CheckResult& result) {
  const std::string seen = EscapeXml(result.seen);
  const std::string means = EscapeXml(result.means);
  const std::string advice = EscapeXml(result.advice);
  switch (result.level) {
    case Level::kGood:
      break;
    case Level::kUnknown:
      return fmt::format("<skipped message=\"{}\"/>", seen);
    case Level::kWarning:
      return fmt::format("<system-out>warning: {}\nmeans: {}\ndo: {}</system-out>", seen, means,
                         advice);
    case Level::kBad:
      if (means.empty()) {
        return fmt::format("<failure message=\"{0}\">expected: {1}\nseen: {0}\ndo: {2}</failure>",
                           seen, EscapeXml(result.expected), advice);
      }
      return fmt::format("<failure message=\"{0}\">seen: {0}\nmeans: {1}\ndo: {2}</failure>", seen,
                         means, advice);
  }
  return "";
}

std::string TestCase(const std::string& suite, const CheckResult& result) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}")",
                                       EscapeXml(suite), EscapeXml(result.name()));
  const std::string body = TestBody(result);
  if (!body.empty()) return fmt::format("{}>\n      {}\n    </testcase>\n", head, body);
  return head + (result.means.empty() ? "/>\n" : "></testcase>\n");
}

std::string TestSuite(const std::string& name, const std::vector<CheckResult>& results) {
  const Tally tally = Count(results);
  std::string text = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
      EscapeXml(name), results.size(), tally.bad, tally.unknown);
  for (const CheckResult& result : results) text += TestCase(name, result);
  return text + "  </testsuite>\n";
}

// The results cut where the group changes.
std::vector<std::vector<CheckResult>> Grouped(const std::vector<CheckResult>& results) {
  std::vector<std::vector<CheckResult>> groups;
  for (const CheckResult& result : results) {
    if (groups.empty() || groups.back()[0].group() != result.group()) groups.emplace_back();
    groups.back().push_back(result);
  }
  return groups;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  good += other.good;
  unknown += other.unknown;
  warning += other.warning;
  bad += other.bad;
  return *this;
}

Tally Count(const std::vector<CheckResult>& results) {
  Tally tally;
  for (const CheckResult& result : results) {
    switch (result.level) {
      case Level::kGood:
        ++tally.good;
        break;
      case Level::kUnknown:
        ++tally.unknown;
        break;
      case Level::kWarning:
        ++tally.warning;
        break;
      case Level::kBad:
        ++tally.bad;
        break;
    }
  }
  return tally;
}

Json ToJson(const std::vector<CheckResult>& results, std::string_view (*to_string)(Level)) {
  Json::Array checks;
  for (const CheckResult& result : results) {
    Json check = Json::MakeObject({{"id", result.id},
                                   {"group", result.group()},
                                   {"verdict", to_string(result.level)},
                                   {"expected", result.expected},
                                   {"seen", ToValidUtf8(result.seen)},
                                   {"advice", result.advice}});
    if (!result.means.empty()) {
      check["severity"] = to_string(result.severity);
      check["means"] = result.means;
    }
    checks.push_back(std::move(check));
  }
  return Json(std::move(checks));
}

std::string ToJunit(std::string_view title, const std::vector<Examined>& all) {
  std::string suites;
  Tally tally;
  for (const Examined& examined : all) {
    for (const std::vector<CheckResult>& group : Grouped(examined.results)) {
      suites += TestSuite(fmt::format("{}.{}", examined.name, group[0].group()), group);
    }
    tally += Count(examined.results);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n"
      "{}</testsuites>\n",
      title, tally.sum(), tally.bad, tally.unknown, suites);
}

}  // namespace galen::checks
