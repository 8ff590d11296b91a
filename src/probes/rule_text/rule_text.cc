#include "probes/rule_text/rule_text.h"

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

// As a file has it, in the parts that a person would write: "250ms", "90s" as "1m30s", "24h".
std::string TimeText(Duration time) {
  using std::chrono::hours, std::chrono::minutes;
  const auto whole_hours = std::chrono::floor<hours>(time);
  const auto whole_minutes = std::chrono::floor<minutes>(time - whole_hours);
  const Duration rest = time - whole_hours - whole_minutes;
  std::string text;
  if (whole_hours > hours(0)) text += fmt::format("{}h", whole_hours.count());
  if (whole_minutes > minutes(0)) text += fmt::format("{}m", whole_minutes.count());
  if (rest == Duration::zero() && !text.empty()) return text;
  if (text.empty() && rest > Duration::zero() && rest < std::chrono::seconds(1)) {
    return fmt::format("{:g}ms", std::chrono::duration<double, std::milli>(rest).count());
  }
  return text + SecondsText(rest);
}

// The unit of a rule's numbers; "" where it has none.
std::string UnitOf(const RuleTable& table, std::string_view sign) {
  const SignSpec* spec = table.FindSign(sign);
  return spec == nullptr || spec->unit.empty() ? "" : " " + spec->unit;
}

// The match with the unit of its sign, whether or not the file says it.
std::string MatchWithUnit(Match match, const std::string& unit) {
  if (auto* comparison = std::get_if<Comparison>(&match)) {
    if (!unit.empty()) comparison->unit = unit.substr(1);
  }
  if (const auto* rise = std::get_if<Rise>(&match))
    return fmt::format("rises > {}{} in {}", NumberText(rise->above), unit, TimeText(rise->window));
  return MatchText(match);
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

// The threshold to leave, with its unit: a percentage where the one to enter is one of peers.
std::string LeaveText(const Rule& rule, const std::string& unit) {
  const auto* comparison = std::get_if<Comparison>(&rule.match);
  const bool peers = comparison != nullptr && std::holds_alternative<Peers>(comparison->with);
  return NumberText(*rule.leave) + (peers ? fmt::format(" {}", kPeersUnit) : unit);
}

std::string EndText(const Rule& rule, const std::string& unit) {
  switch (rule.until) {
    case Until::kClear:
      return (rule.leave ? "past " + LeaveText(rule, unit) : "no longer so") +
             (rule.leave_for > Duration::zero() ? " for " + TimeText(rule.leave_for) : "");
    case Until::kFor:
      return fmt::format("not again for {}", TimeText(rule.quiet));
    case Until::kReset:
      return "the device was reset, or the machine started";
    case Until::kReboot:
      return "the machine was started";
  }
  GALEN_UNREACHABLE();
}

std::string WhenText(const Rule& rule, const RuleTable& table) {
  std::string when = rule.sign + " " + MatchWithUnit(rule.match, UnitOf(table, rule.sign));
  if (rule.condition) {
    when += fmt::format(
        ", while {} {}", rule.condition->sign,
        MatchWithUnit(Match(rule.condition->comparison), UnitOf(table, rule.condition->sign)));
  }
  if (rule.count > 1) {
    when += fmt::format(", {} times{}", rule.count, rule.same_detail ? " with one detail" : "");
  }
  if (rule.window > Duration::zero()) when += fmt::format(" in {}", TimeText(rule.window));
  if (rule.enter_for > Duration::zero()) when += ", for " + TimeText(rule.enter_for);
  return when;
}

std::string CommandText(const CommandSource& source) {
  return fmt::format("command {}{}; every {}, at most {} and {} of CPU",
                     fmt::join(source.command, " "), source.json ? ", its JSON" : "",
                     TimeText(source.every), TimeText(source.timeout), TimeText(source.cpu));
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
  return text + fmt::format("; exporter {} at {}, every {}, at most {}, the last value for {}",
                            exporter->name, exporter->url, TimeText(exporter->every),
                            TimeText(exporter->timeout), TimeText(exporter->patience));
}

std::string SourceText(const Rule& rule, const RuleTable& table) {
  const SignSpec* sign = table.FindSign(rule.sign);
  if (sign != nullptr && sign->command) return CommandText(*sign->command);
  if (sign != nullptr && sign->metric) return MetricText(*sign->metric, table);
  if (sign != nullptr && sign->kernel) {
    return fmt::format("the kernel's log, {} of {}: {}", sign->kernel->driver,
                       sign->kernel->subsystem, sign->kernel->line.text);
  }
  if (sign == nullptr || !sign->file) return "the driver";
  const FileSource& file = *sign->file;
  std::string text = file.path;
  if (!file.row.empty()) text += fmt::format(", row {}", file.row);
  if (!file.expected.empty()) text += fmt::format("; expected: {}", file.expected);
  if (file.every > Duration::zero()) text += fmt::format("; every {}", TimeText(file.every));
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
    return fmt::format("rises > {} in {}", NumberText(rise->above), TimeText(rise->window));
  }
  if (const auto* mask = std::get_if<BitMask>(&match)) return MaskText(*mask);
  return "other";
}

std::string ExplainRule(const Rule& rule, const RuleTable& table) {
  std::string text = fmt::format("{}: {}\n  reads  {}\n  when   {}\n", rule.id, StateText(rule),
                                 SourceText(rule, table), WhenText(rule, table));
  if (rule.state != HealthState::kHealthy) {
    text += fmt::format("  ends   {}\n", EndText(rule, UnitOf(table, rule.sign)));
  }
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
