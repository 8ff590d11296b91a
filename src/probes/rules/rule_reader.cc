#include "probes/rules/rule_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/data/yaml_lines.h"
#include "base/text.h"

namespace galen::probes {
namespace {

// YAML makes numbers of texts like 79; a rule that is named or compared by one means the text.
std::string TextOf(const Json& value) {
  if (value.is_int()) return fmt::format("{}", value.AsInt());
  if (value.is_double()) return NumberText(value.AsDouble());
  return value.AsString();
}

// One row under reading: takes its fields and notes what is wrong with each.
class Row {
 public:
  Row(const Json& row, const Json& defaults, RuleFaults& faults)
      : row_(row), defaults_(defaults), faults_(faults) {}

  void Fault(std::string_view field, const std::string& what) { faults_.Add(field, what); }

  // The row's own value, else the default of its sign; null when there is neither.
  const Json& Take(std::string_view field) {
    known_.insert(std::string(field));
    const Json* own = row_.Find(field);
    return own != nullptr ? *own : defaults_[field];
  }

  std::string Text(std::string_view field, bool required = false) {
    const Json& value = Take(field);
    if (value.is_null()) {
      if (required) Fault(field, "is missing");
      return "";
    }
    if (!value.is_string() && !value.is_number()) Fault(field, "is no text");
    return TextOf(value);
  }

  std::optional<double> Number(std::string_view field) {
    const Json& value = Take(field);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number()) Fault(field, "is no number");
    return value.AsDouble();
  }

  Duration Span(std::string_view field) {
    const std::string text = Text(field);
    if (text.empty()) return Duration::zero();
    const StatusOr<Duration> span = ParseDuration(text);
    if (!span.ok()) Fault(field, fmt::format("'{}' is no time like 30s or 5m", text));
    return span.ok() ? *span : Duration::zero();
  }

  std::vector<std::string> Texts(std::string_view field) {
    std::vector<std::string> texts;
    const Json& value = Take(field);
    if (!value.is_null() && !value.is_array()) Fault(field, "is no list");
    for (const Json& item : value.items()) texts.push_back(TextOf(item));
    return texts;
  }

  bool Switch(std::string_view field) {
    const Json& value = Take(field);
    if (!value.is_null() && !value.is_bool()) Fault(field, "is neither true nor false");
    return value.AsBool();
  }

  template <typename T>
  T Choice(std::string_view field, std::vector<std::pair<std::string_view, T>> choices) {
    const std::string text = Text(field, true);
    std::string names;
    for (const auto& [name, value] : choices) {
      if (name == text) return value;
      names += names.empty() ? std::string(name) : fmt::format(", {}", name);
    }
    if (!text.empty()) Fault(field, fmt::format("'{}' is none of {}", text, names));
    // Any will do: the fault that was noted keeps the table from being used.
    return choices.front().second;
  }

  // After all Takes: a field that nobody asked for is a misspelling, in the row or in its sign's
  // defaults.
  void RefuseUnknownFields() {
    for (const Json* from : {&row_, &defaults_}) {
      for (const auto& [field, value] : from->members()) {
        if (!known_.contains(field)) Fault(field, "is no field that this table knows");
      }
    }
  }

 private:
  const Json& row_;
  const Json& defaults_;
  RuleFaults& faults_;
  std::set<std::string, std::less<>> known_;
};

SignSpec ReadSign(Row row) {
  SignSpec sign{
      .name = row.Text("name", true),
      .kind = row.Choice<SignKind>("kind", {{"reading", SignKind::kReading},
                                            {"counter", SignKind::kCounter},
                                            {"event", SignKind::kEvent}}),
      .unit = row.Text("unit"),
      .help = row.Text("help"),
      .usual = row.Text("usual"),
      .among = row.Texts("among"),
      .least = row.Number("least"),
      .most = row.Number("most"),
      .whole = row.Switch("whole"),
  };
  row.RefuseUnknownFields();
  return sign;
}

void ReadUntil(Row& row, Rule& rule) {
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
    row.Fault("until", fmt::format("'{}' is none of clear, reset, reboot or a time", text));
  }
}

void ReadShare(Row& row, Rule& rule) {
  if (row.Take("share").AsString() == "ratio") {
    rule.share = ShareRatio{};
  } else if (const std::optional<double> share = row.Number("share")) {
    if (*share <= 0 || *share > 1) row.Fault("share", "is neither ratio nor above 0 and up to 1");
    rule.share = *share;
  } else if (rule.state == HealthState::kDegraded) {
    row.Fault("share", "is missing: a Degraded device says what is left of it");
  }
}

void ReadMatch(Row& row, Rule& rule) {
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
    row.Fault("while", "is no sign and comparison like \"utilization > 20\"");
  }
}

int ReadCount(Row& row) {
  const double count = row.Number("count").value_or(1);
  if (count >= 1 && count <= kCountMax && count == static_cast<int>(count)) {
    return static_cast<int>(count);
  }
  row.Fault("count", fmt::format("is not a whole number from 1 to {}", kCountMax));
  return 1;
}

Rule ReadRule(Row row) {
  Rule rule;
  rule.id = row.Text("id", true);
  rule.sign = row.Text("sign", true);
  ReadMatch(row, rule);
  rule.state = row.Choice<HealthState>("state", {{"Healthy", HealthState::kHealthy},
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
  rule.leave = row.Number("leave");
  rule.leave_for = row.Span("leave_for");
  ReadUntil(row, rule);
  rule.clears = row.Texts("clears");
  row.RefuseUnknownFields();
  return rule;
}

// The rows of one list; each row's place is set in `faults`.
template <typename Read>
void ReadRows(const Json& rows, std::string_view list, std::size_t rows_max, YamlLines& lines,
              RuleFaults& faults, Read read) {
  faults.At(lines.OfKey(list), std::string(list));
  if (!rows.is_array()) return faults.Add("", "is missing or no list");
  // Not even looked at: a table past the bound is a mistake as a whole, and its faults would bury
  // the one that counts.
  if (rows.items().size() > rows_max) {
    return faults.Add("",
                      fmt::format("has {} rows, at most {} fit", rows.items().size(), rows_max));
  }
  for (std::size_t i = 0; i < rows.items().size(); ++i) {
    const Json& row = rows[i];
    const std::string& name = row[list == "rules" ? "id" : "name"].AsString();
    faults.At(lines.OfItem(list, i),
              name.empty() ? fmt::format("{}[{}]", list, i) : Printable(CutText(name, 80)));
    if (row.is_object()) {
      read(row);
    } else {
      faults.Add("", "is no mapping of fields");
    }
  }
}

}  // namespace

StatusOr<RuleTable> ParseRules(std::string_view text, std::string_view origin) {
  if (text.size() > kRuleFileBytesMax) {
    return InvalidArgument("{}: {} bytes, at most {} fit", origin, text.size(), kRuleFileBytesMax);
  }
  const StatusOr<YamlReading> reading = ReadYaml(text);
  if (!reading.ok()) return Annotate(reading.status(), "{}", origin);
  const Json& document = reading->value;

  RuleTable table;
  RuleFaults faults{std::string(origin)};
  for (const DoubledKey& doubled : reading->doubled) {
    faults.At(doubled.line, fmt::format("key \"{}\"", doubled.key));
    faults.Add("", "comes twice");
  }
  YamlLines lines(text);
  // Signs have no defaults; rules have those of their sign, so signs are read first.
  const Json none;
  ReadRows(document["signs"], "signs", kSignsMax, lines, faults,
           [&](const Json& row) { table.signs.push_back(ReadSign(Row(row, none, faults))); });
  const Json& defaults = document["defaults"];
  ReadRows(document["rules"], "rules", kRulesMax, lines, faults, [&](const Json& row) {
    table.rules.push_back(ReadRule(Row(row, defaults[row["sign"].AsString()], faults)));
    CheckRule(table.rules.back(), table, faults);
  });
  CheckTable(table, lines, faults);
  for (const auto& [name, value] : document.members()) {
    // Anything else is likelier a misspelled part than a part for a later version.
    if (name == "signs" || name == "rules" || name == "defaults") continue;
    faults.At(lines.OfKey(name), "file");
    faults.Add(name, "is no part of a rules file");
  }
  RETURN_IF_ERROR(faults.ToStatus());
  return table;
}

}  // namespace galen::probes
