#include "probes/recording/shown_signs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

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

// The signs of all built-in tables.
std::vector<SignSpec> BuiltInSigns() {
  std::vector<SignSpec> signs;
  std::string names = BuiltInRuleNames();
  std::ranges::replace(names, ',', ' ');
  std::istringstream each(names);
  for (std::string name; each >> name;) {
    const RuleTable table = BuiltInTable(name);
    signs.insert(signs.end(), table.signs.begin(), table.signs.end());
  }
  return signs;
}

// The signs that the table has itself, without those of a table that it extends.
std::vector<SignSpec> OwnSignsOfBuiltIn(std::string_view name) {
  const RuleTable table = BuiltInTable(name);
  const RuleTable below = table.extends.empty() ? RuleTable() : BuiltInTable(table.extends);
  std::vector<SignSpec> own;
  for (const SignSpec& sign : table.signs) {
    const SignSpec* extended = below.FindSign(sign.name);
    if (extended == nullptr || *extended != sign) own.push_back(sign);
  }
  return own;
}

}  // namespace

std::string UnshownText(const UnshownSign& sign, std::string_view where) {
  return fmt::format("no device {} shows the sign {}, which rule{} {} look{} at: looked for {}",
                     where, sign.sign, sign.several_rules ? "s" : "", sign.rules,
                     sign.several_rules ? "" : "s", sign.looked_for);
}

void ShownSigns::SetRules(const RuleTable& rules) {
  rules_ = &rules;
  own_.clear();
  of_extended_.clear();
  for (const SignSpec& sign : rules.signs) {
    if (IsLookedFor(sign) && !RulesOf(sign, rules).empty()) own_.push_back(&sign);
  }
  if (!own_.empty()) {
    const std::vector<SignSpec> built_in = BuiltInSigns();
    std::erase_if(own_, [&](const SignSpec* sign) {
      return std::ranges::find(built_in, *sign) != built_in.end();
    });
  }
  if (rules.extends.empty()) return;
  for (const SignSpec& sign : OwnSignsOfBuiltIn(rules.extends)) {
    if (sign.file) of_extended_.insert(sign.name);
  }
}

void ShownSigns::Take(const Sign& sign) {
  if (sign.absent) return;
  if (of_extended_.contains(sign.name)) with_extended_.insert(sign.device);
  shown_.insert(sign.name);
  if (sign.expected || !sign.error.empty()) expected_.insert(sign.name);
}

std::vector<UnshownSign> ShownSigns::Unshown() const {
  std::vector<UnshownSign> unshown;
  for (const SignSpec* sign : own_) {
    const bool shown = shown_.contains(sign->name);
    const bool expects = sign->file && !expected_.contains(sign->name);
    const auto ids = !shown    ? RulesOf(*sign, *rules_)
                     : expects ? RulesWithExpected(*sign, *rules_)
                               : std::vector<std::string>();
    if (ids.empty()) continue;
    unshown.push_back(
        {.sign = sign->name,
         .rules = fmt::format("{}", fmt::join(ids, ", ")),
         .several_rules = ids.size() > 1,
         .source = sign->file ? UnshownSign::Source::kFile : UnshownSign::Source::kDriver,
         .looked_for = shown ? fmt::format("file {} to hold it against", sign->file->expected)
                             : LookedFor(*sign)});
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
