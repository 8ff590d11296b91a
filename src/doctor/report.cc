#include "doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace galen::doctor {
namespace {

constexpr std::size_t kIndent = 10;        // of the lines below a result's first
constexpr std::size_t kColumnsLeast = 40;  // narrower terminals get long lines
// For a refusal in an agent's Pod, whose account has only the agent's rights.
constexpr std::string_view kRefusedAdvice =
    "deploy/galen.yaml gives the agent's account only what the agent itself needs. For the other "
    "rights name a kubeconfig of an account that may read these objects, by --kubeconfig.";

// Breaks `text` into lines of `columns`; all but the first begin with `indent` spaces. `used` is
// the filled part of the first line.
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

// A result in full.
std::string Paragraph(const CheckResult& result, const TextOptions& options) {
  std::string head = fmt::format("{:<{}}", ToString(result.level), kIndent);
  std::ranges::transform(head, head.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return fmt::format("\n{}{}\n{}{}{}", head, result.id, Line("seen", result.seen, options),
                     Line("means", result.means, options), Line("do", result.advice, options));
}

std::string OneLine(const CheckResult& result, const TextOptions& options) {
  constexpr std::size_t kColumn = 26;  // of what was seen; the longest id is shorter
  const std::string_view text = result.seen.empty() ? result.expected : result.seen;
  return fmt::format("  {:<{}}{}\n", result.id, kColumn - 2,
                     Wrapped(text, kColumn, kColumn, options.columns));
}

// The healthy checks, a line each.
std::string HealthySection(const Report& report, const TextOptions& options) {
  std::string text;
  for (const CheckResult& result : report.results) {
    if (result.level == Level::kGood) text += OneLine(result, options);
  }
  return text.empty() ? text : "\nhealthy\n" + text;
}

// Checks that could not be made, grouped by reason: one reason often prevents many checks.
std::string UnknownSection(const Report& report, const TextOptions& options) {
  std::vector<std::pair<std::string, std::string>> reasons;  // with the checks' ids
  for (const CheckResult& result : report.results) {
    if (result.level != Level::kUnknown) continue;
    const auto at =
        std::ranges::find(reasons, result.seen, &std::pair<std::string, std::string>::first);
    if (at == reasons.end()) {
      reasons.emplace_back(result.seen, result.id);
    } else {
      at->second += " " + result.id;
    }
  }
  std::string text;
  for (const auto& [reason, ids] : reasons) {
    text += fmt::format("  {}\n    {}\n", Wrapped(reason, 2, 2, options.columns),
                        Wrapped(ids, 4, 4, options.columns));
  }
  if (text.empty()) return text;
  const bool refused = std::ranges::any_of(reasons, [](const auto& reason) {
    return reason.first.find(kMissingRight) != std::string::npos;
  });
  if (refused) text += fmt::format("\n{}\n", Wrapped(kRefusedAdvice, 0, 0, options.columns));
  return "\nCould not be looked at, because of\n" + text;
}

}  // namespace

checks::Tally Count(const Report& report) { return checks::Count(report.results); }

std::string TextReport(const Report& report, const TextOptions& options) {
  std::string text =
      fmt::format("node {}, kubelet root {}\n", Shown(report.node), Shown(report.kubelet_root));
  for (const Level level : {Level::kBad, Level::kWarning}) {
    for (const CheckResult& result : report.results) {
      if (result.level == level) text += Paragraph(result, options);
    }
  }
  text += UnknownSection(report, options);
  if (options.wide) text += HealthySection(report, options);
  const checks::Tally tally = Count(report);
  return text + fmt::format("\n{} checks: {} bad, {}, {} unknown, {} healthy\n",
                            report.results.size(), tally.bad, Counted(tally.warning, "warning"),
                            tally.unknown, tally.good);
}

Json JsonReport(const Report& report) {
  const checks::Tally tally = Count(report);
  return Json::MakeObject({{"node", ToValidUtf8(report.node)},
                           {"kubeletRoot", ToValidUtf8(report.kubelet_root)},
                           {"time", FormatRfc3339(report.when)},
                           {"checks", checks::ToJson(report.results, ToString)},
                           {"summary", Json::MakeObject({{"bad", tally.bad},
                                                         {"warning", tally.warning},
                                                         {"unknown", tally.unknown},
                                                         {"healthy", tally.good}})}});
}

std::string JunitReport(const Report& report) {
  return checks::ToJunit("galen doctor", {{report.node, report.results}});
}

}  // namespace galen::doctor
