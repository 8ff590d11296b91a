#include "doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/data/xml.h"
#include "base/text.h"

namespace galen::doctor {
namespace {

constexpr std::size_t kIndent = 10;        // of what is said of a finding
constexpr std::size_t kColumnsLeast = 40;  // narrower terminals get long lines

// Words of `text` on lines of `columns`; all but the first begin with `indent` spaces. `used` is
// what the first line holds already.
std::string Wrapped(std::string_view text, std::size_t used, std::size_t indent,
                    std::size_t columns) {
  if (columns < kColumnsLeast) return std::string(text);
  std::string out;
  std::size_t width = used;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    const bool first = out.empty();
    const auto length = static_cast<std::size_t>(
        std::ranges::count_if(word, [](char c) { return (c & 0xC0) != 0x80; }));
    if (!first && width + 1 + length > columns) {
      out += '\n' + std::string(indent, ' ');
      width = indent;
    } else if (!first) {
      out += ' ';
      ++width;
    }
    out += word;
    width += length;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::string Line(std::string_view label, std::string_view text, const TextOptions& options) {
  return fmt::format("  {:<{}}{}\n", label, kIndent - 2,
                     Wrapped(text, kIndent, kIndent, options.columns));
}

// A finding in full.
std::string Paragraph(const Finding& finding, const TextOptions& options) {
  std::string head = fmt::format("{:<{}}", ToString(finding.verdict), kIndent);
  std::ranges::transform(head, head.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return fmt::format("\n{}{}\n{}{}{}", head, finding.id, Line("seen", finding.seen, options),
                     Line("means", finding.means, options), Line("do", finding.advice, options));
}

std::string OneLine(const Finding& finding, const TextOptions& options) {
  constexpr std::size_t kColumn = 26;  // of what was seen; the longest id is shorter
  const std::string_view told = finding.seen.empty() ? finding.expected : finding.seen;
  return fmt::format("  {:<{}}{}\n", finding.id, kColumn - 2,
                     Wrapped(told, kColumn, kColumn, options.columns));
}

// What is healthy, a line each.
std::string HealthySection(const Report& report, const TextOptions& options) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (finding.verdict == Verdict::kHealthy) text += OneLine(finding, options);
  }
  return text.empty() ? text : "\nhealthy\n" + text;
}

// What could not be looked at, by the reason: one often stands before many checks.
std::string UnknownSection(const Report& report, const TextOptions& options) {
  std::vector<std::pair<std::string, std::string>> reasons;  // with the checks' ids
  for (const Finding& finding : report.findings) {
    if (finding.verdict != Verdict::kUnknown) continue;
    const auto at =
        std::ranges::find(reasons, finding.seen, &std::pair<std::string, std::string>::first);
    if (at == reasons.end()) {
      reasons.emplace_back(finding.seen, finding.id);
    } else {
      at->second += " " + finding.id;
    }
  }
  std::string text;
  for (const auto& [reason, ids] : reasons) {
    text += fmt::format("  {}\n    {}\n", Wrapped(reason, 2, 2, options.columns),
                        Wrapped(ids, 4, 4, options.columns));
  }
  return text.empty() ? text : "\nCould not be looked at, because of\n" + text;
}

std::string TestCase(const std::string& suite, const Finding& finding) {
  const std::string head =
      fmt::format(R"(    <testcase classname="{}" name="{}">)", EscapeXml(suite),
                  EscapeXml(std::string_view(finding.id).substr(finding.group().size() + 1)));
  std::string body;
  switch (finding.verdict) {
    case Verdict::kHealthy:
      break;
    case Verdict::kUnknown:
      body = fmt::format("\n      <skipped message=\"{}\"/>\n    ", EscapeXml(finding.seen));
      break;
    case Verdict::kWarning:
      body =
          fmt::format("\n      <system-out>warning: {}\nmeans: {}\ndo: {}</system-out>\n    ",
                      EscapeXml(finding.seen), EscapeXml(finding.means), EscapeXml(finding.advice));
      break;
    case Verdict::kBad:
      body = fmt::format(
          "\n      <failure message=\"{0}\">seen: {0}\nmeans: {1}\ndo: {2}</failure>\n    ",
          EscapeXml(finding.seen), EscapeXml(finding.means), EscapeXml(finding.advice));
      break;
  }
  return head + body + "</testcase>\n";
}

Tally CountOf(const std::vector<Finding>& findings) {
  Tally tally;
  for (const Finding& finding : findings) {
    switch (finding.verdict) {
      case Verdict::kBad:
        ++tally.bad;
        break;
      case Verdict::kWarning:
        ++tally.warning;
        break;
      case Verdict::kUnknown:
        ++tally.unknown;
        break;
      case Verdict::kHealthy:
        ++tally.healthy;
        break;
    }
  }
  return tally;
}

}  // namespace

Tally Count(const Report& report) { return CountOf(report.findings); }

std::string TextReport(const Report& report, const TextOptions& options) {
  std::string text =
      fmt::format("node {}, kubelet root {}\n", Shown(report.node), Shown(report.kubelet_root));
  for (const Verdict verdict : {Verdict::kBad, Verdict::kWarning}) {
    for (const Finding& finding : report.findings) {
      if (finding.verdict == verdict) text += Paragraph(finding, options);
    }
  }
  text += UnknownSection(report, options);
  if (options.wide) text += HealthySection(report, options);
  const Tally tally = Count(report);
  return text + fmt::format("\n{} checks: {} bad, {}, {} unknown, {} healthy\n",
                            report.findings.size(), tally.bad, Counted(tally.warning, "warning"),
                            tally.unknown, tally.healthy);
}

Json JsonReport(const Report& report) {
  Json::Array checks;
  for (const Finding& finding : report.findings) {
    checks.push_back(Json::MakeObject({{"id", finding.id},
                                       {"group", finding.group()},
                                       {"verdict", ToString(finding.verdict)},
                                       {"severity", ToString(finding.severity)},
                                       {"expected", finding.expected},
                                       {"seen", ToValidUtf8(finding.seen)},
                                       {"means", finding.means},
                                       {"advice", finding.advice}}));
  }
  const Tally tally = Count(report);
  return Json::MakeObject({{"node", ToValidUtf8(report.node)},
                           {"kubeletRoot", ToValidUtf8(report.kubelet_root)},
                           {"time", FormatRfc3339(report.when)},
                           {"checks", std::move(checks)},
                           {"summary", Json::MakeObject({{"bad", tally.bad},
                                                         {"warning", tally.warning},
                                                         {"unknown", tally.unknown},
                                                         {"healthy", tally.healthy}})}});
}

std::string JunitReport(const Report& report) {
  std::vector<std::pair<std::string, std::vector<Finding>>> groups;
  for (const Finding& finding : report.findings) {
    if (groups.empty() || groups.back().first != finding.group()) {
      groups.emplace_back(finding.group(), std::vector<Finding>());
    }
    groups.back().second.push_back(finding);
  }
  std::string suites;
  for (const auto& [group, findings] : groups) {
    const std::string suite = fmt::format("{}.{}", report.node, group);
    const Tally tally = CountOf(findings);
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
        EscapeXml(suite), findings.size(), tally.bad, tally.unknown);
    for (const Finding& finding : findings) suites += TestCase(suite, finding);
    suites += "  </testsuite>\n";
  }
  const Tally tally = Count(report);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"galen doctor\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "skipped=\"{}\">\n{}</testsuites>\n",
      report.findings.size(), tally.bad, tally.unknown, suites);
}

}  // namespace galen::doctor
