#include "probes/rules/rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "probes/rules/sign.h"

namespace galen::probes {
namespace {

std::string SecondsText(Duration time) {
  return fmt::format("{:g}s", std::chrono::duration<double>(time).count());
}

std::string_view MarkOf(Compare compare) {
  switch (compare) {
    case Compare::kAbove:
      return ">";
    case Compare::kAtLeast:
      return ">=";
    case Compare::kBelow:
      return "<";
    case Compare::kAtMost:
      return "<=";
    case Compare::kEqual:
      return "==";
    case Compare::kNotEqual:
      return "!=";
  }
  GALEN_UNREACHABLE();
}

std::string RightSideText(const Comparison& comparison) {
  if (const double* number = std::get_if<double>(&comparison.with)) {
    return NumberText(*number) + (comparison.unit.empty() ? "" : " " + comparison.unit);
  }
  if (const auto* text = std::get_if<std::string>(&comparison.with)) return *text;
  if (const auto* peers = std::get_if<Peers>(&comparison.with)) {
    return NumberText(peers->share * 100) + " % of peers";
  }
  return std::holds_alternative<Expected>(comparison.with) ? "expected" : "baseline";
}

std::string NumbersText(const NumberSet& set) {
  std::string all;
  for (const NumberRange& range : set.ranges) {
    all += all.empty() ? "in " : ", ";
    all += range.first == range.last ? fmt::format("{}", range.first)
                                     : fmt::format("{}-{}", range.first, range.last);
  }
  return all;
}

std::string MaskText(const BitMask& mask) {
  switch (mask.need) {
    case BitMask::Need::kAny:
      return fmt::format("any of {:#x}", mask.bits);
    case BitMask::Need::kAll:
      return fmt::format("all of {:#x}", mask.bits);
    case BitMask::Need::kNone:
      return fmt::format("none of {:#x}", mask.bits);
  }
  GALEN_UNREACHABLE();
}

// Of peers the threshold to leave is a percentage as the one to enter is.
std::string LeaveText(const Rule& rule) {
  const auto* comparison = std::get_if<Comparison>(&rule.match);
  const bool peers = comparison != nullptr && std::holds_alternative<Peers>(comparison->with);
  return NumberText(*rule.leave) + (peers ? " % of peers" : "");
}

std::string EndText(const Rule& rule) {
  switch (rule.until) {
    case Until::kClear:
      return rule.leave
                 ? fmt::format("past {} for {}", LeaveText(rule), SecondsText(rule.leave_for))
                 : fmt::format("no longer so for {}", SecondsText(rule.leave_for));
    case Until::kFor:
      return fmt::format("not again for {}", SecondsText(rule.quiet));
    case Until::kReset:
      return "the device was reset, or the machine started";
    case Until::kReboot:
      return "the machine was started";
  }
  GALEN_UNREACHABLE();
}

std::string WhenText(const Rule& rule) {
  std::string when = rule.sign + " " + MatchText(rule.match);
  if (rule.condition) {
    when += fmt::format(", while {} {}", rule.condition->sign,
                        MatchText(Match(rule.condition->comparison)));
  }
  if (rule.count > 1) when += fmt::format(", {} times", rule.count);
  if (rule.window > Duration::zero()) when += fmt::format(" in {}", SecondsText(rule.window));
  if (rule.enter_for > Duration::zero()) when += ", for " + SecondsText(rule.enter_for);
  return when;
}

std::string CommandText(const CommandSource& source) {
  return fmt::format("command {}{}; every {}, at most {} and {} of CPU",
                     fmt::join(source.command, " "), source.json ? ", its JSON" : "",
                     SecondsText(source.every), SecondsText(source.timeout),
                     SecondsText(source.cpu));
}

std::string MetricText(const MetricSource& source, const RuleTable& table) {
  std::string text = fmt::format("metric {}", source.name);
  const ExporterSpec* exporter = table.FindExporter(source.exporter);
  if (exporter == nullptr) return text;
  std::map<std::string, std::string> labels = source.labels;
  labels.insert(exporter->labels.begin(), exporter->labels.end());
  std::string separator = " with ";
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", std::exchange(separator, ", "), name, value);
  }
  return text + fmt::format("; exporter {} at {}, every {}", exporter->name, exporter->url,
                            SecondsText(exporter->every));
}

std::string SourceText(const Rule& rule, const RuleTable& table) {
  const SignSpec* sign = table.FindSign(rule.sign);
  if (sign != nullptr && sign->command) return CommandText(*sign->command);
  if (sign != nullptr && sign->metric) return MetricText(*sign->metric, table);
  if (sign == nullptr || !sign->file) return "the driver";
  const FileSource& file = *sign->file;
  std::string text = file.path;
  if (!file.row.empty()) text += fmt::format(", row {}", file.row);
  if (!file.expected.empty()) text += fmt::format("; expected: {}", file.expected);
  if (file.every > Duration::zero()) text += fmt::format("; every {}", SecondsText(file.every));
  return text;
}

std::string StateText(const Rule& rule) {
  std::string text = fmt::format("{}, {}", ToString(rule.state), rule.code);
  if (rule.state != HealthState::kDegraded) return text;
  const double* share = std::get_if<double>(&rule.share);
  return text + (share != nullptr ? fmt::format(", share {:g}", *share) : ", share by the ratio");
}

}  // namespace

std::string MatchText(const Match& match) {
  if (const auto* comparison = std::get_if<Comparison>(&match)) {
    return fmt::format("{} {}", MarkOf(comparison->compare), RightSideText(*comparison));
  }
  if (const auto* set = std::get_if<NumberSet>(&match)) return NumbersText(*set);
  if (const auto* rise = std::get_if<Rise>(&match)) {
    return fmt::format("rises > {} in {}", NumberText(rise->above), SecondsText(rise->window));
  }
  if (const auto* mask = std::get_if<BitMask>(&match)) return MaskText(*mask);
  return "other";
}

std::string ExplainRule(const Rule& rule, const RuleTable& table) {
  std::string text = fmt::format("{}: {}\n  reads  {}\n  when   {}\n", rule.id, StateText(rule),
                                 SourceText(rule, table), WhenText(rule));
  if (rule.state != HealthState::kHealthy) text += fmt::format("  ends   {}\n", EndText(rule));
  text += fmt::format("  says   {}\n", rule.sentence);
  if (!rule.text.empty()) text += fmt::format("  text   {}\n", rule.text);
  if (!rule.because.empty()) text += fmt::format("  because {}\n", rule.because);
  for (const std::string& cleared : rule.clears) text += fmt::format("  clears {}\n", cleared);
  for (const std::string& silent : rule.supersedes) {
    text += fmt::format("  supersedes {}\n", silent);
  }
  return text;
}

}  // namespace galen::probes
