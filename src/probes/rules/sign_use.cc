// Tested by rule_engine_test.cc.
#include "probes/rules/sign_use.h"

#include <variant>

namespace galen::probes {
namespace {

// Everything but a comparison with a text needs a number to weigh.
bool NeedsNumber(const Match& match) {
  const auto* comparison = std::get_if<Comparison>(&match);
  return comparison == nullptr || !std::holds_alternative<std::string>(comparison->with);
}

bool AsksForBaseline(const Match& match) {
  const auto* comparison = std::get_if<Comparison>(&match);
  return comparison != nullptr && std::holds_alternative<Baseline>(comparison->with);
}

}  // namespace

SignUses UsesOf(const RuleTable& table) {
  SignUses uses;
  for (const SignSpec& spec : table.signs) uses[spec.name].spec = &spec;
  for (std::size_t i = 0; i < table.rules.size(); ++i) {
    const Rule& rule = table.rules[i];
    if (rule.condition) {
      const auto condition = uses.find(rule.condition->sign);
      if (condition != uses.end()) condition->second.is_condition = true;
    }
    const auto sign = uses.find(rule.sign);
    // The reader refuses such a rule; one that no sign can reach is no rule.
    if (sign == uses.end()) continue;
    SignUse& use = sign->second;
    use.rules.push_back(i);
    use.needs_number = use.needs_number || NeedsNumber(rule.match);
    use.has_baseline = use.has_baseline || AsksForBaseline(rule.match);
  }
  return uses;
}

}  // namespace galen::probes
