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

bool AsksForPeers(const Rule& rule) {
  const auto* comparison = std::get_if<Comparison>(&rule.match);
  return comparison != nullptr && std::holds_alternative<Peers>(comparison->with);
}

SignUses UsesOf(const RuleTable& table) {
  SignUses uses;
  std::size_t with_peers = 0;
  for (const SignSpec& spec : table.signs) uses[spec.name].spec = &spec;
  for (std::size_t i = 0; i < table.rules.size(); ++i) {
    const Rule& rule = table.rules[i];
    if (rule.condition) {
      const auto condition = uses.find(rule.condition->sign);
      if (condition != uses.end()) condition->second.is_condition = true;
    }
    const auto sign = uses.find(rule.sign);
    // The reader refuses a rule of an unknown sign.
    if (sign == uses.end()) continue;
    SignUse& use = sign->second;
    use.rules.push_back(i);
    use.needs_number = use.needs_number || NeedsNumber(rule.match);
    use.needs_whole = use.needs_whole || std::holds_alternative<BitMask>(rule.match);
    use.has_baseline = use.has_baseline || AsksForBaseline(rule.match);
    if (AsksForPeers(rule) && !use.peers) use.peers = with_peers++;
  }
  return uses;
}

std::vector<std::vector<std::size_t>> SupersedersOf(const RuleTable& table) {
  std::vector<std::vector<std::size_t>> superseders(table.rules.size());
  for (std::size_t i = 0; i < table.rules.size(); ++i) {
    for (const std::string& id : table.rules[i].supersedes) {
      const Rule* named = table.FindRule(id);
      // The reader refuses the name of an unknown rule.
      if (named == nullptr) continue;
      superseders[static_cast<std::size_t>(named - table.rules.data())].push_back(i);
    }
  }
  return superseders;
}

}  // namespace galen::probes
