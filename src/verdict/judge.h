// Decides whose fault the end of a Pod was: rules as data over what is known
// (model/crash_evidence.h). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/crash_evidence.h"
#include "model/verdict.h"
#include "verdict/crash_facts.h"

namespace galen {

// Never fails: where nothing ended badly, or there is no evidence, the answer is kUndetermined. A
// state of Unknown is evidence for nothing. Hardware is named only if a device that the ended
// container sees has a finding that is Degraded or Unhealthy with FaultOwner::kHardware; taking
// such findings away never raises the confidence in it. An application's fault called hardware
// costs a good device and hides the bug, so that a doubt always ends undetermined.
Verdict Judge(const CrashEvidence& evidence);

// A rule: which facts must hold, which kind that supports, by what weight, and the sentence. It
// applies when every fact of `holds` holds and none of `lacks` does. A rule for hardware
// lacks nothing that signs of hardware bring about, so that fewer signs never raise its weight.
struct VerdictRule {
  std::string_view name;
  VerdictKind supports;
  // Among the rows of one kind and group only the strongest that applies counts: they are the same
  // evidence in several forms.
  std::string_view group;
  // How likely `supports` is the truth when this rule alone applies, 0 to 1. Weights of different
  // groups are combined as independent signs: 1 - (1 - a)(1 - b).
  double weight;
  std::vector<Fact> holds;
  std::vector<Fact> lacks;
  // {subject}, {when} and {what} are the texts of the first fact in `holds`.
  std::string_view sentence;
  std::string_view source;  // where the knowledge comes from
};

// All rules, in verdict_rules.cc. docs/guide/verdict.md shows the same table; a test compares the
// two.
const std::vector<VerdictRule>& VerdictRules();

// What a kind needs to be named: its own weight, less that of the strongest other kind. Hardware
// needs more, because a good device is taken away by it.
inline constexpr double kHardwareConfidenceMin = 0.75;
inline constexpr double kOtherConfidenceMin = 0.60;

// Judge by other rules than VerdictRules(): for tests of what each row is worth.
Verdict JudgeBy(const std::vector<VerdictRule>& rules, const CrashEvidence& evidence);

}  // namespace galen
