#include "probes/rule_file/rule_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/data/yaml_lines.h"
#include "base/text.h"
#include "probes/rule_file/rule_row.h"
#include "probes/rule_file/sign_reader.h"

namespace galen::probes {
namespace {

void ReadUntil(RuleRow& row, Rule& rule) {
  const std::string text = row.Text("until");
  // An absent `until` is right for a reading; CheckRule refuses it for an event.
  if (text.empty() || text == "clear") return;
  if (text == "reset") {
    rule.until = Until::kReset;
  } else if (text == "reboot") {
    rule.until = Until::kReboot;
  } else if (const StatusOr<Duration> quiet = ParseDuration(text); quiet.ok()) {
    rule.until = Until::kFor;
    rule.quiet = *quiet;
  } else {
    row.Fault("until", fmt::format("'{}' is not one of clear, reset, reboot or a time", text));
  }
}

void ReadShare(RuleRow& row, Rule& rule) {
  if (row.Take("share").AsString() == "ratio") {
    rule.share = ShareRatio{};
  } else if (const std::optional<double> share = row.Number("share")) {
    if (*share <= 0 || *share > 1) row.Fault("share", "is neither ratio nor above 0 and up to 1");
    rule.share = *share;
  } else if (rule.state == HealthState::kDegraded && !row.Unread("share")) {
    row.Missing("share", "is missing: a Degraded device says what is left of it");
  }
}

void ReadMatch(RuleRow& row, Rule& rule) {
  const std::string when = row.Text("when", true);
  StatusOr<Match> match = ParseMatch(when);
  if (match.ok()) {
    rule.match = *std::move(match);
  } else if (!when.empty()) {
    row.Fault("when", match.status().message());
  }
  const std::string condition = row.Text("while");
  if (condition.empty()) return;
  // The name ends at the first space; what is behind it has the form of any comparison.
  const std::size_t space = std::min(condition.find(' '), condition.size());
  StatusOr<Match> holds = ParseMatch(std::string_view(condition).substr(space));
  if (holds.ok() && std::holds_alternative<Comparison>(*holds)) {
    rule.condition = Condition{condition.substr(0, space), std::get<Comparison>(*holds)};
  } else {
    row.Fault("while", "is not a sign and a comparison like \"utilization > 20\"");
  }
}

// Reads what may stand behind the mark of `when`, in the same way.
void ReadLeave(RuleRow& row, Rule& rule) {
  const std::string text = row.Text("leave");
  if (text.empty()) return;
  const StatusOr<Match> match = ParseMatch("> " + text);
  const auto* past = match.ok() ? std::get_if<Comparison>(&*match) : nullptr;
  if (past != nullptr && std::holds_alternative<double>(past->with)) {
    rule.leave = std::get<double>(past->with);
    rule.leave_unit = past->unit;
  } else if (past != nullptr && std::holds_alternative<Peers>(past->with)) {
    rule.leave = std::get<Peers>(past->with).share * 100;
    rule.leave_unit = kPeersUnit;
  } else if (!row.Unread("leave")) {
    row.Fault("leave", "is not a number like 82, \"82 °C\" or \"95 % of peers\"");
  }
}

int ReadCount(RuleRow& row) {
  const double count = row.Number("count").value_or(1);
  if (count >= 1 && count <= kCountMax && count == static_cast<int>(count)) {
    return static_cast<int>(count);
  }
  row.Fault("count", fmt::format("is not a whole number from 1 to {}", kCountMax));
  return 1;
}

Rule ReadRule(RuleRow row) {
  Rule rule;
  rule.id = row.Text("id", true);
  rule.sign = row.Text("sign", true);
  ReadMatch(row, rule);
  rule.state = row.Choice<HealthState>("state", {{"Healthy", HealthState::kHealthy},
                                                 {"Unknown", HealthState::kUnknown},
                                                 {"Degraded", HealthState::kDegraded},
                                                 {"Unhealthy", HealthState::kUnhealthy}});
  ReadShare(row, rule);
  rule.code = row.Text("code", true);
  rule.sentence = row.Text("sentence", true);
  rule.text = row.Text("text");
  rule.unit = row.Text("unit");
  rule.owner = row.Choice<FaultOwner>("owner", {{"Hardware", FaultOwner::kHardware},
                                                {"Driver", FaultOwner::kDriver},
                                                {"Application", FaultOwner::kApplication},
                                                {"Platform", FaultOwner::kPlatform}});
  rule.because = row.Text("because");
  rule.enter_for = row.Span("enter_for");
  rule.count = ReadCount(row);
  rule.window = row.Span("window");
  rule.same_detail = row.Switch("same_detail");
  ReadLeave(row, rule);
  rule.leave_for = row.Span("leave_for");
  ReadUntil(row, rule);
  rule.clears = row.Texts("clears");
  rule.supersedes = row.Texts("supersedes");
  row.RefuseUnknownFields();
  return rule;
}

// The rows of one list; each row's place is set in `faults`.
template <typename Read>
void ReadRows(const Json& rows, std::string_view list, std::size_t rows_max, YamlLines& lines,
              RuleFaults& faults, Read read) {
  faults.At(lines.OfKey(list), std::string(list));
  if (!rows.is_array()) return faults.Add("", "is missing or not a list");
  // Not even looked at: a table past the bound is a mistake as a whole, and its faults would bury
  // the one that counts.
  if (rows.items().size() > rows_max) {
    return faults.Add("",
                      fmt::format("has {} rows, at most {} fit", rows.items().size(), rows_max));
  }
  for (std::size_t i = 0; i < rows.items().size(); ++i) {
    const Json& row = rows[i];
    const std::string& name = row[list == "rules" ? "id" : "name"].AsString();
    faults.At(lines, list, i,
              name.empty() ? fmt::format("{}[{}]", list, i) : Printable(CutText(name, 80)));
    if (row.is_object()) {
      read(row);
    } else {
      faults.Add("", "is not a mapping of fields");
    }
  }
}

// Puts the row in the place of the one with the same key, else at the end.
template <typename Row, typename Key>
void Override(std::vector<Row>& rows, const Row& row, Key key) {
  const auto same =
      std::ranges::find_if(rows, [&](const Row& other) { return other.*key == row.*key; });
  if (same == rows.end()) {
    rows.push_back(row);
  } else {
    *same = row;
  }
}

StatusOr<RuleTable> ReadFile(std::string_view text, RuleFaults& faults);

// The built-in table that the document extends; an empty one when it extends none.
RuleTable ReadExtended(const Json& extends, YamlLines& lines, RuleFaults& faults) {
  if (extends.is_null()) return {};
  faults.At(lines.OfKey("extends"), "file");
  if (extends.is_array()) {
    faults.AddUnread("extends", "is a list, but a file extends one table, such as `extends: pci`");
    return {};
  }
  const std::string_view text = BuiltInRules(extends.AsString());
  if (text.empty()) {
    faults.AddUnread(
        "extends", fmt::format("'{}' is not one of {}", Printable(CutText(FieldText(extends), 80)),
                               BuiltInRuleNames()));
    return {};
  }
  RuleFaults of_built_in(fmt::format("built-in {}", extends.AsString()));
  StatusOr<RuleTable> table = ReadFile(text, of_built_in);
  // A fault here would be our own: builtin_rules_test reads each.
  GALEN_CHECK(table.ok());
  return *std::move(table);
}

void RefuseUnknownParts(const Json& document, YamlLines& lines, RuleFaults& faults) {
  constexpr std::string_view kParts[] = {"extends", "exporters", "signs", "rules", "defaults"};
  for (const auto& [name, value] : document.members()) {
    // Anything else is likelier a misspelled part than a part for a later version.
    if (std::ranges::find(kParts, name) != std::end(kParts)) continue;
    faults.At(lines.OfKey(name), "file");
    faults.Add(name, "is not a part of a rules file");
  }
}

// A driver's signs need no unit: sentences have it from the table.
void FillUnits(RuleTable& table) {
  for (Rule& rule : table.rules) {
    const SignSpec* sign = table.FindSign(rule.sign);
    if (rule.unit.empty() && sign != nullptr) rule.unit = sign->unit;
  }
}

// A rule's row, with the defaults of its sign.
RuleRow RowOfRule(const Json& row, const Json& defaults, const RuleTable& table,
                  RuleFaults& faults) {
  const std::string& sign = row["sign"].AsString();
  const Json& of_sign = defaults[sign];
  std::set<std::string, std::less<>> defaulted;
  for (const auto& [field, value] : of_sign.members()) {
    if (!row.Has(field)) defaulted.insert(field);
  }
  faults.HasDefaults(sign, std::move(defaulted));
  RuleRow read(RowKind::kRule, row, of_sign, faults);
  // If the sign is misspelt, in the rule or in the defaults, nobody knows which defaults it has.
  const bool known = table.FindSign(sign) != nullptr && !faults.UnreadInAny("", "defaults");
  if (!known && !defaults.members().empty()) read.MayHaveDefaults();
  return read;
}

// Defaults are for all rules of a sign, of whatever state.
void DropIdleDefaults(const Json& row, Rule& rule) {
  if (!row.Has("because") && rule.state != HealthState::kHealthy) rule.because.clear();
  if (!row.Has("share") && rule.state != HealthState::kDegraded) rule.share = Rule().share;
}

// Reports defaults that no rule of the file takes: they do nothing. Not where a rule's sign is
// misspelt, which is the fault then.
void CheckDefaultsAreTaken(const Json& defaults, const RuleTable& own, const RuleTable& table,
                           const YamlLines& lines, RuleFaults& faults) {
  const auto known = [&table](const Rule& rule) { return table.FindSign(rule.sign) != nullptr; };
  if (!std::ranges::all_of(own.rules, known)) return;
  for (const auto& [sign, fields] : defaults.members()) {
    if (table.FindSign(sign) == nullptr) continue;
    if (std::ranges::find(own.rules, sign, &Rule::sign) != own.rules.end()) continue;
    faults.At(lines.PlaceInside("defaults", sign, ""), "file");
    faults.Add("defaults",
               fmt::format("of {} are used by no rule of this file; to change a rule of "
                           "the table that it extends, write one of the same id",
                           Shown(sign, 80)));
  }
}

// The whole table of the file: what it says itself and what it extends.
RuleTable ReadTable(const Json& document, YamlLines& lines, RuleFaults& faults) {
  const bool extends = !document["extends"].is_null();
  RuleTable table = ReadExtended(document["extends"], lines, faults);
  table.extends = document["extends"].AsString();
  RuleTable own;
  // Signs have no defaults; rules have those of their sign, so signs are read first.
  const Json none;
  if (document.Has("exporters")) {
    ReadRows(document["exporters"], "exporters", kExportersMax, lines, faults,
             [&](const Json& row) {
               own.exporters.push_back(
                   ReadExporter(RuleRow(RowKind::kExporter, row, none, faults), faults));
               Override(table.exporters, own.exporters.back(), &ExporterSpec::name);
             });
  }
  if (!extends || document.Has("signs")) {
    ReadRows(document["signs"], "signs", kSignsMax, lines, faults, [&](const Json& row) {
      own.signs.push_back(ReadSign(RuleRow(RowKind::kSign, row, none, faults), faults));
      Override(table.signs, own.signs.back(), &SignSpec::name);
    });
  }
  const Json& defaults = document["defaults"];
  CheckDefaults(defaults, table, lines, faults);
  if (!extends || document.Has("rules")) {
    ReadRows(document["rules"], "rules", kRulesMax, lines, faults, [&](const Json& row) {
      own.rules.push_back(ReadRule(RowOfRule(row, defaults, table, faults)));
      DropIdleDefaults(row, own.rules.back());
      CheckRule(own.rules.back(), table, faults);
      Override(table.rules, own.rules.back(), &Rule::id);
    });
  }
  CheckDefaultsAreTaken(defaults, own, table, lines, faults);
  CheckTable(own, table, lines, faults);
  return table;
}

// Without the units that rules have from their signs: a file that extends this one may give a sign
// another.
StatusOr<RuleTable> ReadFile(std::string_view text, RuleFaults& faults) {
  if (text.size() > kRuleFileBytesMax) {
    return InvalidArgument("{}: {} bytes, at most {} fit", faults.origin(), text.size(),
                           kRuleFileBytesMax);
  }
  const StatusOr<YamlReading> reading = ReadYaml(text);
  if (!reading.ok()) return Annotate(reading.status(), "{}", faults.origin());
  for (const DoubledKey& doubled : reading->doubled) {
    faults.At(YamlPlace{doubled.line, doubled.column}, fmt::format("key \"{}\"", doubled.key));
    faults.Add("", "comes twice");
  }
  YamlLines lines(text);
  RuleTable table = ReadTable(reading->value, lines, faults);
  RefuseUnknownParts(reading->value, lines, faults);
  RETURN_IF_ERROR(faults.ToStatus());
  return table;
}

}  // namespace

StatusOr<RuleTable> ParseRules(std::string_view text, std::string_view origin) {
  RuleFaults faults{std::string(origin)};
  ASSIGN_OR_RETURN(RuleTable table, ReadFile(text, faults));
  FillUnits(table);
  return table;
}

std::vector<RuleFault> FaultsOfRules(std::string_view text, std::string_view origin) {
  RuleFaults faults{std::string(origin)};
  const StatusOr<RuleTable> table = ReadFile(text, faults);
  // Too large, or no YAML: its message names the line.
  if (!table.ok() && faults.all().empty()) return {{.message = table.status().message()}};
  return faults.all();
}

}  // namespace galen::probes
