#include "verdict/judge.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace galen {
namespace {

// A cause's message is at most 200 bytes; with the text around it it fits.
constexpr std::size_t kSentenceBytesMax = 300;

std::string Replaced(std::string_view pattern, const FactWords& words) {
  const std::pair<std::string_view, const std::string*> places[] = {
      {"{subject}", &words.subject}, {"{when}", &words.when}, {"{what}", &words.what}};
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

bool Speaks(const VerdictRule& rule, const CrashFacts& facts) {
  const auto holds = [&](Fact fact) { return facts.contains(fact); };
  return std::all_of(rule.holds.begin(), rule.holds.end(), holds) &&
         std::none_of(rule.lacks.begin(), rule.lacks.end(), holds);
}

// A rule that spoke, with its row.
struct Spoken {
  const VerdictRule* rule;
  Evidence evidence;
};

// The strongest of each group, strongest first; of equals the one that comes first in the table.
std::vector<Spoken> Strongest(const std::vector<VerdictRule>& rules, const CrashFacts& facts) {
  std::vector<Spoken> spoken;
  for (const VerdictRule& rule : rules) {
    if (!Speaks(rule, facts)) continue;
    const auto same = std::find_if(spoken.begin(), spoken.end(), [&](const Spoken& other) {
      return other.rule->speaks_for == rule.speaks_for && other.rule->group == rule.group;
    });
    if (same != spoken.end() && same->rule->weight >= rule.weight) continue;
    if (same != spoken.end()) spoken.erase(same);
    spoken.push_back({&rule,
                      {.rule = std::string(rule.name),
                       .speaks_for = rule.speaks_for,
                       .weight = rule.weight,
                       .sentence = Replaced(rule.sentence, facts.at(rule.holds.front()))}});
  }
  std::stable_sort(spoken.begin(), spoken.end(), [](const Spoken& a, const Spoken& b) {
    return a.rule->weight > b.rule->weight;
  });
  return spoken;
}

// How likely each kind is if only the evidence for it is looked at.
std::map<VerdictKind, double> WeightsOf(const std::vector<Spoken>& spoken) {
  std::map<VerdictKind, double> doubts = {
      {VerdictKind::kHardware, 1}, {VerdictKind::kApplication, 1}, {VerdictKind::kPlatform, 1}};
  for (const Spoken& one : spoken) doubts.at(one.rule->speaks_for) *= 1 - one.rule->weight;
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
  const std::vector<Spoken> spoken = Strongest(rules, ReadFacts(evidence));
  const std::map<VerdictKind, double> weights = WeightsOf(spoken);
  Verdict verdict;
  for (const auto& [kind, weight] : weights) {
    const double confidence = Confidence(kind, weights);
    if (confidence < LeastFor(kind)) continue;
    verdict.kind = kind;
    verdict.confidence = confidence;
  }
  for (const Spoken& one : spoken) {
    const bool supports = one.rule->speaks_for == verdict.kind;
    (supports ? verdict.supporting : verdict.opposing).push_back(one.evidence);
  }
  return verdict;
}

Verdict Judge(const CrashEvidence& evidence) { return JudgeBy(VerdictRules(), evidence); }

}  // namespace galen
