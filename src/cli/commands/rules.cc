#include <fmt/format.h>

#include <cstdio>

#include "base/files/posix_file_system.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/table.h"
#include "cli/output/tone.h"
#include "probes/recording/rules_replay.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rule_text/rule_text.h"

namespace galen::cli {
namespace {

// A table as text, and what faults of it name.
struct RulesText {
  std::string text, origin;
};

StatusOr<RulesText> ReadRulesText(const std::string& file) {
  StatusOr<std::string> text = PosixFileSystem().Read(file);
  if (text.ok()) return RulesText{*std::move(text), file};
  const std::string_view builtin = probes::BuiltInRules(file);
  if (!builtin.empty()) return RulesText{std::string(builtin), "built-in " + file};
  return NotFound("{}; built-in tables are {}", text.status().message(),
                  probes::BuiltInRuleNames());
}

}  // namespace

StatusOr<probes::RuleTable> LoadRulesTable(const std::string& file) {
  ASSIGN_OR_RETURN(const RulesText table, ReadRulesText(file));
  return probes::ParseRules(table.text, table.origin);
}

StatusOr<std::string> CheckRules(const std::string& file) {
  ASSIGN_OR_RETURN(const probes::RuleTable table, LoadRulesTable(file));
  return fmt::format("{}: {} and {}, no faults\n", file, Counted(table.signs.size(), "sign"),
                     Counted(table.rules.size(), "rule"));
}

StatusOr<Json> CheckRulesAsJson(const std::string& file) {
  ASSIGN_OR_RETURN(const RulesText text, ReadRulesText(file));
  Json faults = Json::MakeArray({});
  for (const probes::RuleFault& fault : probes::FaultsOfRules(text.text, text.origin)) {
    Json row = Json::MakeObject({{"file", file}});
    if (fault.place) {
      row["line"] = fault.place->line;
      row["column"] = fault.place->column;
    }
    row["message"] = fault.message;
    faults.Append(std::move(row));
  }
  Json check = Json::MakeObject({{"file", file}, {"faults", std::move(faults)}});
  const StatusOr<probes::RuleTable> table = probes::ParseRules(text.text, text.origin);
  if (!table.ok()) return check;
  check["signs"] = table->signs.size();
  check["rules"] = table->rules.size();
  return check;
}

StatusOr<std::string> ListRules(const Options& options, const std::string& file) {
  ASSIGN_OR_RETURN(const probes::RuleTable table, LoadRulesTable(file));
  Table text({"RULE", "STATE", "CODE", "SIGN", "WHEN"});
  for (const probes::Rule& rule : table.rules) {
    text.Add({rule.id,
              {std::string(ToString(rule.state)), ToneOf(rule.state)},
              rule.code,
              rule.sign,
              probes::MatchText(rule.match)});
  }
  return text.Text(options.colour);
}

StatusOr<std::string> ExplainRules(const std::string& file, const std::string& id) {
  ASSIGN_OR_RETURN(const probes::RuleTable table, LoadRulesTable(file));
  std::string text;
  for (const probes::Rule& rule : table.rules) {
    if (id.empty() || rule.id == id) text += probes::ExplainRule(rule, table);
  }
  if (text.empty() && !id.empty()) {
    return NotFound("{} has no rule '{}': galen rules list {} shows them", file, id, file);
  }
  return text;
}

StatusOr<std::string> TestRules(const std::string& file, const std::string& recording) {
  if (recording.empty()) return InvalidArgument("--replay is missing: a directory of steps");
  ASSIGN_OR_RETURN(const probes::RuleTable table, LoadRulesTable(file));
  ASSIGN_OR_RETURN(const probes::Replay replay,
                   probes::ReplayRules(probes::RealSysfs(), recording, table));
  for (const std::string& note : replay.notes) PrintError(note);
  if (replay.tried == 0) {
    return FailedPrecondition("nothing was tried: no rule of {} looks at anything of {}", file,
                              recording);
  }
  return probes::ReplayText(replay);
}

std::string SchemaOfRules() { return probes::RulesSchema().DumpPretty() + "\n"; }

}  // namespace galen::cli
