#include "probes/recording/shown_signs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

// Shown by every driver, or only once a check has run.
constexpr std::string_view kNotLookedFor[] = {"present", "active-check"};

bool IsLookedFor(const SignSpec& sign) {
  const bool says_itself = sign.command || sign.metric;
  return sign.kind != SignKind::kEvent && !says_itself &&
         std::ranges::find(kNotLookedFor, sign.name) == std::end(kNotLookedFor);
}

std::vector<std::string> RulesOf(const SignSpec& sign, const RuleTable& table) {
  std::vector<std::string> ids;
  for (const Rule& rule : table.rules) {
    const bool condition = rule.condition && rule.condition->sign == sign.name;
    if (rule.sign == sign.name || condition) ids.push_back(rule.id);
  }
  return ids;
}

// Rules that compare the sign with what its file says to expect.
std::vector<std::string> RulesWithExpected(const SignSpec& sign, const RuleTable& table) {
  std::vector<std::string> ids;
  for (const Rule& rule : table.rules) {
    const auto* comparison = std::get_if<Comparison>(&rule.match);
    const bool compares =
        comparison != nullptr && std::holds_alternative<Expected>(comparison->with);
    if (rule.sign == sign.name && compares) ids.push_back(rule.id);
  }
  return ids;
}

std::string LookedFor(const SignSpec& sign) {
  if (!sign.file) return "sign of that name";
  if (!sign.file->row.empty()) {
    return fmt::format("row '{}' of file {}", sign.file->row, sign.file->path);
  }
  if (sign.file->capture) {
    return fmt::format("text '{}' in file {}", sign.file->capture->text, sign.file->path);
  }
  return "file " + sign.file->path;
}

// A fault here would be our own: builtin_rules_test reads each.
RuleTable BuiltInTable(std::string_view name) {
  return ParseRules(BuiltInRules(name), name).value();
}

using Names = std::set<std::string, std::less<>>;

// The signs with files that the table has itself, beside those of what it extends.
Names OwnFilesOf(const RuleTable& table) {
  const RuleTable below = table.extends.empty() ? RuleTable() : BuiltInTable(table.extends);
  Names own;
  for (const SignSpec& sign : table.signs) {
    const SignSpec* extended = below.FindSign(sign.name);
    if (sign.file && (extended == nullptr || *extended != sign)) own.insert(sign.name);
  }
  return own;
}

// What the built-in tables say.
struct BuiltIn {
  std::vector<SignSpec> signs{};                      // of all tables, each once
  std::map<std::string, Names, std::less<>> files{};  // by table: OwnFilesOf it
};

BuiltIn ReadBuiltIn() {
  BuiltIn built_in;
  std::string names = BuiltInRuleNames();
  std::ranges::replace(names, ',', ' ');
  std::istringstream each(names);
  for (std::string name; each >> name;) {
    const RuleTable table = BuiltInTable(name);
    for (const SignSpec& sign : table.signs) {
      const bool known = std::ranges::find(built_in.signs, sign) != built_in.signs.end();
      if (!known) built_in.signs.push_back(sign);
    }
    built_in.files[name] = OwnFilesOf(table);
  }
  return built_in;
}

// Read once: it takes milliseconds, which each reading of an operator's rules would cost the loop.
const BuiltIn& KnownBuiltIn() {
  static const BuiltIn kBuiltIn = ReadBuiltIn();
  return kBuiltIn;
}

}  // namespace

std::string UnshownText(const UnshownSign& sign, std::string_view where) {
  return fmt::format("no device {} shows the sign {}, which rule{} {} look{} at: looked for {}",
                     where, sign.sign, sign.several_rules ? "s" : "", sign.rules,
                     sign.several_rules ? "" : "s", sign.looked_for);
}

void ShownSigns::SetRules(const RuleTable& rules) {
  const BuiltIn& built_in = KnownBuiltIn();
  own_.clear();
  of_extended_.clear();
  for (const SignSpec& sign : rules.signs) {
    if (!IsLookedFor(sign)) continue;
    std::vector<std::string> ids = RulesOf(sign, rules);
    const bool own = std::ranges::find(built_in.signs, sign) == built_in.signs.end();
    if (own && !ids.empty()) {
      own_.push_back({sign, std::move(ids), RulesWithExpected(sign, rules)});
    }
  }
  const auto extended = built_in.files.find(rules.extends);
  if (extended != built_in.files.end()) of_extended_ = extended->second;
}

void ShownSigns::Take(const Sign& sign) {
  if (sign.absent) return;
  if (of_extended_.contains(sign.name)) with_extended_.insert(sign.device);
  shown_.insert(sign.name);
  if (sign.expected || !sign.error.empty()) expected_.insert(sign.name);
}

std::vector<UnshownSign> ShownSigns::Unshown() const {
  std::vector<UnshownSign> unshown;
  for (const auto& [spec, rules, with_expected] : own_) {
    const bool shown = shown_.contains(spec.name);
    const bool expects = spec.file && !expected_.contains(spec.name);
    if (shown && !expects) continue;
    const std::vector<std::string>& ids = shown ? with_expected : rules;
    if (ids.empty()) continue;
    unshown.push_back(
        {.sign = spec.name,
         .rules = fmt::format("{}", fmt::join(ids, ", ")),
         .several_rules = ids.size() > 1,
         .source = spec.file ? UnshownSign::Source::kFile : UnshownSign::Source::kDriver,
         .looked_for = shown ? fmt::format("file {} to hold it against", spec.file->expected)
                             : LookedFor(spec)});
  }
  return unshown;
}

std::vector<std::string> ShownSigns::WithoutExtended(
    const std::vector<std::string>& devices) const {
  std::vector<std::string> without;
  for (const std::string& device : devices) {
    if (!of_extended_.empty() && !with_extended_.contains(device)) without.push_back(device);
  }
  return without;
}

}  // namespace galen::probes
