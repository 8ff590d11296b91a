// Tested by rule_reader_test.cc, whose files have each of these faults.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "probes/rule_fields.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/sentence.h"
#include "probes/rules/sign.h"
#include "probes/rules/sign_use.h"
#include "probes/rules/sign_value.h"

namespace galen::probes {
namespace {

// Only against a best value is there a ratio to take.
bool ComparesWithKnownBest(const Rule& rule) {
  const auto* comparison = std::get_if<Comparison>(&rule.match);
  return comparison != nullptr && (std::holds_alternative<Expected>(comparison->with) ||
                                   std::holds_alternative<Baseline>(comparison->with) ||
                                   std::holds_alternative<Peers>(comparison->with));
}

bool ComparesWithExpected(const Rule& rule) {
  const auto* comparison = std::get_if<Comparison>(&rule.match);
  return comparison != nullptr && std::holds_alternative<Expected>(comparison->with);
}

// Whether something may say what to expect of the sign: a second file beside its file, or the
// driver where the sign has no source.
bool MayExpect(const SignSpec& sign) {
  if (sign.file) return !sign.file->expected.empty();
  return !sign.has_source();
}

void CheckMatch(const Rule& rule, const SignSpec& sign, RuleFaults& faults) {
  const SignKind kind = sign.kind;
  const bool event = kind == SignKind::kEvent;
  const bool numbers_of_events =
      std::holds_alternative<NumberSet>(rule.match) || std::holds_alternative<Other>(rule.match);
  if (numbers_of_events && !event)
    faults.Add("when", "lists numbers, but the sign is not an event");
  if (event && AsksForPeers(rule))
    faults.Add("when", "compares with peers, but an event happens to one");
  if (ComparesWithExpected(rule) && !MayExpect(sign)) {
    faults.Add("when", fmt::format("compares with expected, but {} says of none{}", sign.name,
                                   sign.file ? ": `expected` names the file that does" : ""));
  }
  if (std::holds_alternative<Rise>(rule.match) && kind != SignKind::kCounter) {
    faults.Add("when", "watches a counter rise, but the sign is not a counter");
  }
  if (std::holds_alternative<ShareRatio>(rule.share) && !faults.Unread("when") &&
      !ComparesWithKnownBest(rule)) {
    faults.Add("share", "is a ratio, so `when` must compare with expected, baseline or peers");
  }
}

// What the file extends could not be read: what seems to be missing may be there.
bool LacksTable(const RuleFaults& faults) { return faults.UnreadInAny("", "extends"); }

// "; is it `temperature`?" of the sign that the name is likely meant to be.
std::string NearSign(std::string_view name, const RuleTable& table) {
  const auto near = std::ranges::find_if(
      table.signs, [name](const SignSpec& sign) { return IsNear(name, sign.name); });
  return near == table.signs.end() ? "" : fmt::format("; is it `{}`?", near->name);
}

// Not where a row or the extended table could not be read: the sign may be in it.
void RefuseUnknownSign(const std::string& name, const char* field, const RuleTable& table,
                       RuleFaults& faults) {
  if (faults.UnreadInAny("signs", "name") || LacksTable(faults)) return;
  faults.Add(field,
             fmt::format("'{}' is not among this file's signs{}", name, NearSign(name, table)));
}

void CheckCondition(const Rule& rule, const RuleTable& table, RuleFaults& faults) {
  if (!rule.condition) return;
  const SignSpec* sign = table.FindSign(rule.condition->sign);
  if (!std::holds_alternative<double>(rule.condition->comparison.with))
    return faults.Add("while", "compares with something else than a number");
  if (sign == nullptr) return RefuseUnknownSign(rule.condition->sign, "while", table, faults);
  CheckComparison(rule.condition->comparison, *sign, "while", faults);
}

// Hysteresis: the threshold to leave lies on the good side of the one to enter, or the finding
// would flap at once.
void CheckLeave(const Rule& rule, RuleFaults& faults) {
  if (!rule.leave || faults.Unread("when")) return;
  const auto* comparison = std::get_if<Comparison>(&rule.match);
  const double* number = comparison ? std::get_if<double>(&comparison->with) : nullptr;
  const Peers* peers = comparison ? std::get_if<Peers>(&comparison->with) : nullptr;
  if (number == nullptr && peers == nullptr) {
    return faults.Add("leave", "needs a `when` with a number");
  }
  const double threshold = number != nullptr ? *number : peers->share * 100;
  switch (comparison->compare) {
    case Compare::kAbove:
    case Compare::kAtLeast:
      if (*rule.leave > threshold) faults.Add("leave", "is above the threshold it should be below");
      return;
    case Compare::kBelow:
    case Compare::kAtMost:
      if (*rule.leave < threshold) faults.Add("leave", "is below the threshold it should be above");
      return;
    case Compare::kEqual:
    case Compare::kNotEqual:
      faults.Add("leave", "needs a `when` with <, <=, > or >=");
      return;
  }
}

// A reading ends by itself; an event happened, so something else must say when it is over.
void CheckTimes(const Rule& rule, SignKind kind, RuleFaults& faults) {
  const bool event = kind == SignKind::kEvent;
  const bool record = rule.state == HealthState::kHealthy;
  const bool state_known = !faults.Unread("state");
  if (event && !record && state_known && rule.until == Until::kClear) {
    faults.Add("until", "is missing: an event does not end by itself (reset, reboot or a time)");
  }
  if (!event && record) faults.Add("state", "is Healthy, which means something for events only");
  if (!event && rule.until == Until::kFor)
    faults.Add("until", "is a time, but the sign is not an event");
  if (event && (rule.enter_for > Duration::zero() || rule.leave_for > Duration::zero())) {
    faults.Add("enter_for", "and leave_for need a sign that lasts; use count and window");
  }
  if (event && rule.count > 1 && rule.window <= Duration::zero()) {
    faults.Add("window", "is missing: events are counted within a time");
  } else if (event && rule.same_detail &&
             rule.window < (rule.count - 1) * std::chrono::minutes(1)) {
    faults.Add("window", "is too short: events of one detail count a minute apart");
  }
  if (!event && !rule.clears.empty()) {
    faults.Add("clears", "is done by what happens, such as a reset; the sign is no event");
  }
  for (const auto& [field, time] :
       {std::pair("enter_for", rule.enter_for), std::pair("leave_for", rule.leave_for),
        std::pair("window", rule.window), std::pair("until", rule.quiet)}) {
    if (time > kRuleTimeMost) faults.Add(field, "is past 31 days, which nobody waits for");
  }
  if (rule.same_detail && (!event || rule.count == 1)) {
    faults.Add("same_detail", "is for events that are counted; say a count above 1");
  }
  if (!event && rule.window > Duration::zero()) {
    faults.Add("window", "is for events; a reading has count and enter_for");
  }
}

// A reading is weighed and drawn as a number; only an event can be text.
void CheckNumbers(const SignSpec& sign, RuleFaults& faults) {
  if (sign.kind == SignKind::kEvent) return;
  for (const std::string& each : sign.among) {
    if (NumberOf(Sign{.value = each})) continue;
    faults.Add("among", fmt::format("'{}' is not a number; only an event can be text", each));
  }
}

// The bounds of a sign must leave some value, and the value of a healthy device among them.
void CheckPossible(const SignSpec& sign, RuleFaults& faults) {
  CheckNumbers(sign, faults);
  if (sign.least && sign.most && *sign.least > *sign.most) {
    return faults.Add("least", "is above most");
  }
  if (!sign.among.empty() && (sign.least || sign.most || sign.whole)) {
    return faults.Add("among", "has no value that fits least, most and whole");
  }
  if (!sign.usual.empty() && !ParseSignValue(sign, sign.usual).ok()) {
    faults.Add("usual", fmt::format("'{}' is not {}", sign.usual, PossibleValues(sign)));
  }
}

}  // namespace

void CheckRule(const Rule& rule, const RuleTable& table, RuleFaults& faults) {
  const SignSpec* sign = table.FindSign(rule.sign);
  if (sign == nullptr && !rule.sign.empty()) RefuseUnknownSign(rule.sign, "sign", table, faults);
  if (sign != nullptr && !faults.UnreadRow("signs", rule.sign)) {
    CheckMatch(rule, *sign, faults);
    CheckValues(rule, *sign, faults);
    CheckTimes(rule, sign->kind, faults);
    // An active check has a sentence of its own, too (check_results.h), and what is counted by its
    // detail has one.
    const bool has_detail = sign->command || sign->name == "active-check" || rule.same_detail;
    if (NeedsDetail(rule.sentence) && !has_detail) {
      faults.Add("sentence", "has {detail}, which only a sign with a `command` gives");
    }
  }
  CheckCondition(rule, table, faults);
  CheckLeave(rule, faults);
  CheckWords(rule, faults);
  CheckWordsOfState(rule, faults);
}

// Whether some rule detects what ends `rule`. A start of the machine resets its devices too.
bool HasEnd(const Rule& rule, const RuleTable& table) {
  const bool waits = rule.state != HealthState::kHealthy &&
                     (rule.until == Until::kReset || rule.until == Until::kReboot);
  return !waits || std::ranges::any_of(table.rules, [&](const Rule& other) {
    return other.id != rule.id && std::ranges::any_of(other.clears, [&](const std::string& it) {
             return it == "reboot" || it == rule.id ||
                    (it == "reset" && rule.until == Until::kReset);
           });
  });
}

void CheckEnd(const Rule& rule, const RuleTable& table, RuleFaults& faults) {
  if (HasEnd(rule, table) || faults.UnreadInAny("rules", "clears") || LacksTable(faults)) return;
  faults.Add("until", fmt::format("never comes: no rule of this file clears '{}'",
                                  rule.until == Until::kReset ? "reset" : "reboot"));
}

// The rules that a rule silences must be there, and no rule silences itself, not even by way of
// others: then none of them would be shown.
class SupersedeCheck {
 public:
  SupersedeCheck(const RuleTable& table, RuleFaults& faults) : table_(table), faults_(faults) {}

  void Check(const Rule& rule) {
    if (faults_.Unread("state")) return;
    if (!rule.supersedes.empty() && rule.state == HealthState::kHealthy) {
      faults_.Add("supersedes", "stands in a Healthy rule, which finds nothing");
    }
    for (const std::string& id : rule.supersedes) {
      const Rule* named = table_.FindRule(id);
      if (named == nullptr && LacksTable(faults_)) continue;
      if (named == nullptr) {
        faults_.Add("supersedes", fmt::format("'{}' is not a rule of this file", Shown(id, 80)));
      } else if (std::set<const Rule*> seen; Reaches(*named, rule, seen)) {
        faults_.Add("supersedes",
                    fmt::format("'{}' supersedes this rule, itself or by others", id));
      } else if (named->state == HealthState::kUnhealthy && rule.state != HealthState::kUnhealthy) {
        faults_.Add("supersedes",
                    fmt::format("'{}' is worse than this rule, which would hide it", id));
      }
    }
  }

 private:
  // Whether `from` is `to`, or supersedes it by way of others.
  bool Reaches(const Rule& from, const Rule& to, std::set<const Rule*>& seen) const {
    if (from.id == to.id) return true;
    if (!seen.insert(&from).second) return false;
    return std::ranges::any_of(from.supersedes, [&](const std::string& id) {
      const Rule* next = table_.FindRule(id);
      return next != nullptr && Reaches(*next, to, seen);
    });
  }

  const RuleTable& table_;
  RuleFaults& faults_;
};

void CheckDefaults(const Json& defaults, const RuleTable& table, const YamlLines& lines,
                   RuleFaults& faults) {
  faults.At(lines.OfKey("defaults"), "file");
  if (!defaults.is_null() && !defaults.is_object()) {
    return faults.AddUnread("defaults", "is not a mapping of signs to fields");
  }
  // A sign that is missing may be one whose row, or whose table, could not be read.
  const bool all_known = !faults.UnreadInAny("signs", "name") && !LacksTable(faults);
  bool sound = true;
  for (const auto& [sign, fields] : defaults.members()) {
    faults.At(lines.PlaceInside("defaults", sign, ""), "file");
    const bool known = table.FindSign(sign) != nullptr || !all_known;
    sound = sound && known && fields.is_object();
    if (!known) {
      faults.Add("defaults", fmt::format("names '{}', which is not among this file's signs{}",
                                         Shown(sign, 80), NearSign(sign, table)));
    } else if (!fields.is_object()) {
      faults.Add("defaults", fmt::format("of {} is not a mapping of fields", sign));
    }
    for (const auto& [field, value] : fields.members()) {
      if (FindField(RowKind::kRule, field) != nullptr) continue;
      faults.At(lines.PlaceInside("defaults", sign, field), "defaults of " + Shown(sign, 80));
      faults.Add(Shown(field, 80),
                 "is not a field that this table knows" + NearField(RowKind::kRule, field));
    }
  }
  faults.At(lines.OfKey("defaults"), "file");
  if (!sound) faults.MarkUnread("defaults");
}

// What drivers show of themselves is misspelt in silence: no file is missed.
void CheckShown(std::string_view name, RuleFaults& faults) {
  constexpr std::array<std::string_view, 3> kShown = {"present", "reset", "active-check"};
  if (std::ranges::find(kShown, name) != kShown.end()) return;
  const auto near = std::ranges::find_if(kShown, [name](auto each) { return IsNear(name, each); });
  if (near == kShown.end()) return;
  faults.Add("name",
             fmt::format("has no source such as a `file`; is it `{}`, which needs none?", *near));
}

void CheckSigns(const RuleTable& own, const YamlLines& lines, RuleFaults& faults) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < own.signs.size(); ++i) {
    const SignSpec& sign = own.signs[i];
    faults.At(lines, "signs", i, sign.name);
    if (!sign.name.empty() && !IsDnsLabel(sign.name)) {
      faults.Add("name", "is not lower-case letters, digits and '-'");
    }
    if (!names.insert(sign.name).second) faults.Add("name", "is taken by a row above");
    if (!sign.has_source()) CheckShown(sign.name, faults);
    CheckPossible(sign, faults);
  }
}

// Signs that name an exporter that is not there; those of rows only, whose lines are known.
void CheckExporterNames(const RuleTable& own, const RuleTable& table, const YamlLines& lines,
                        RuleFaults& faults) {
  for (std::size_t i = 0; i < own.signs.size(); ++i) {
    const SignSpec& sign = own.signs[i];
    if (!sign.metric || table.FindExporter(sign.metric->exporter) != nullptr) continue;
    faults.At(lines, "signs", i, sign.name);
    faults.Add("exporter", fmt::format("'{}' is not among this file's exporters",
                                       Shown(sign.metric->exporter, 80)));
  }
}

// Rules that were taken over: a row of the file may have taken away what they rest on.
void CheckExtended(const RuleTable& own, const RuleTable& table, const YamlLines& lines,
                   RuleFaults& faults) {
  for (const Rule& rule : table.rules) {
    if (own.FindRule(rule.id) != nullptr) continue;
    faults.At(lines.OfKey("extends"), rule.id);
    CheckRule(rule, table, faults);
    CheckEnd(rule, table, faults);
  }
}

void CheckSupersedes(const RuleTable& own, const RuleTable& table, const YamlLines& lines,
                     RuleFaults& faults) {
  SupersedeCheck check(table, faults);
  for (std::size_t i = 0; i < own.rules.size(); ++i) {
    faults.At(lines, "rules", i, own.rules[i].id);
    check.Check(own.rules[i]);
  }
}

void CheckTable(const RuleTable& own, const RuleTable& table, const YamlLines& lines,
                RuleFaults& faults) {
  CheckSigns(own, lines, faults);
  CheckExporterNames(own, table, lines, faults);
  std::set<std::string_view> exporters, names;
  for (std::size_t i = 0; i < own.exporters.size(); ++i) {
    faults.At(lines.OfItem("exporters", i), own.exporters[i].name);
    if (!exporters.insert(own.exporters[i].name).second) {
      faults.Add("name", "is taken by a row above");
    }
  }
  for (std::size_t i = 0; i < own.rules.size(); ++i) {
    const Rule& rule = own.rules[i];
    faults.At(lines, "rules", i, rule.id);
    // "reset" and "reboot" stand in `clears` for all rules that wait for them.
    if (!rule.id.empty() && (!IsDnsLabel(rule.id) || rule.id == "reset" || rule.id == "reboot")) {
      faults.Add("id", "is not lower-case letters, digits and '-', or means something else");
    }
    if (!names.insert(rule.id).second) faults.Add("id", "is taken by a row above");
    CheckEnd(rule, table, faults);
    for (const std::string& cleared : rule.clears) {
      if (LacksTable(faults)) break;
      if (cleared == "reset" || cleared == "reboot" || table.FindRule(cleared) != nullptr) continue;
      faults.Add("clears",
                 fmt::format("'{}' is not a rule of this file, reset or reboot", cleared));
    }
  }
  CheckExtended(own, table, lines, faults);
  CheckSupersedes(own, table, lines, faults);
  const auto commands = std::ranges::count_if(
      table.signs, [](const SignSpec& sign) { return sign.command.has_value(); });
  if (std::cmp_greater(commands, kCommandSignsMax)) {
    faults.At(lines.OfKey("signs"), "signs");
    faults.Add("command",
               fmt::format("stands in {} signs, at most {} fit", commands, kCommandSignsMax));
  }
}

}  // namespace galen::probes
