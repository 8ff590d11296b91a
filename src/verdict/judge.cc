#include "verdict/judge.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace galen {
namespace {

// A cause's message is at most 200 bytes; with the text around it it fits.
constexpr std::size_t kSentenceBytesMax = 300;

std::string Replaced(std::string_view pattern, const FactText& fact) {
  const std::pair<std::string_view, const std::string*> places[] = {
      {"{subject}", &fact.subject}, {"{when}", &fact.when}, {"{what}", &fact.what}};
  std::string text;
  while (!pattern.empty()) {
    const auto* const place =
        std::find_if(std::begin(places), std::end(places),
                     [&](const auto& p) { return pattern.starts_with(p.first); });
    if (place == std::end(places)) {
      text += pattern.front();
      pattern.remove_prefix(1);
    } else {
      text += *place->second;
      pattern.remove_prefix(place->first.size());
    }
  }
  return CutText(text, kSentenceBytesMax);
}

bool Applies(const VerdictRule& rule, const CrashFacts& facts) {
  const auto holds = [&](Fact fact) { return facts.contains(fact); };
  return std::all_of(rule.holds.begin(), rule.holds.end(), holds) &&
         std::none_of(rule.lacks.begin(), rule.lacks.end(), holds);
}

// A rule that applies, and the evidence that it gives.
struct AppliedRule {
  const VerdictRule* rule;
  Evidence evidence;
};

// The strongest of each group, strongest first; of equals the one that comes first in the table.
std::vector<AppliedRule> Strongest(const std::vector<VerdictRule>& rules, const CrashFacts& facts) {
  std::vector<AppliedRule> applied;
  for (const VerdictRule& rule : rules) {
    if (!Applies(rule, facts)) continue;
    const auto same = std::find_if(applied.begin(), applied.end(), [&](const AppliedRule& other) {
      return other.rule->supports == rule.supports && other.rule->group == rule.group;
    });
    if (same != applied.end() && same->rule->weight >= rule.weight) continue;
    if (same != applied.end()) applied.erase(same);
    applied.push_back({&rule,
                       {.rule = std::string(rule.name),
                        .supports = rule.supports,
                        .weight = rule.weight,
                        .sentence = Replaced(rule.sentence, facts.at(rule.holds.front()))}});
  }
  std::stable_sort(applied.begin(), applied.end(), [](const AppliedRule& a, const AppliedRule& b) {
    return a.rule->weight > b.rule->weight;
  });
  return applied;
}

// How likely each kind is if only the evidence for it is looked at.
std::map<VerdictKind, double> WeightsOf(const std::vector<AppliedRule>& applied) {
  std::map<VerdictKind, double> doubts = {
      {VerdictKind::kHardware, 1}, {VerdictKind::kApplication, 1}, {VerdictKind::kPlatform, 1}};
  for (const AppliedRule& one : applied) doubts.at(one.rule->supports) *= 1 - one.rule->weight;
  for (auto& [kind, doubt] : doubts) doubt = 1 - doubt;
  return doubts;
}

// What is left of a kind once the strongest other one is held against it.
double Confidence(VerdictKind kind, const std::map<VerdictKind, double>& weights) {
  double strongest_other = 0;
  for (const auto& [other, weight] : weights) {
    if (other != kind) strongest_other = std::max(strongest_other, weight);
  }
  return weights.at(kind) * (1 - strongest_other);
}

double LeastFor(VerdictKind kind) {
  return kind == VerdictKind::kHardware ? kHardwareConfidenceMin : kOtherConfidenceMin;
}

}  // namespace

Verdict JudgeBy(const std::vector<VerdictRule>& rules, const CrashEvidence& evidence) {
  const std::vector<AppliedRule> applied = Strongest(rules, ReadFacts(evidence));
  const std::map<VerdictKind, double> weights = WeightsOf(applied);
  Verdict verdict;
  for (const auto& [kind, weight] : weights) {
    const double confidence = Confidence(kind, weights);
    if (confidence < LeastFor(kind)) continue;
    verdict.kind = kind;
    verdict.confidence = confidence;
  }
  for (const AppliedRule& one : applied) {
    const bool supports = one.rule->supports == verdict.kind;
    (supports ? verdict.supporting : verdict.opposing).push_back(one.evidence);
  }
  return verdict;
}

Verdict Judge(const CrashEvidence& evidence) { return JudgeBy(VerdictRules(), evidence); }

}  // namespace galen
