// Rules as people read them. Pure.
#pragma once

#include <string>

#include "probes/rules/rule.h"

namespace galen::probes {

// As it stands in a file: ParseMatch reads it back.
std::string MatchText(const Match& match);

// What the rule says and when, in a few lines, indented by two: where its sign is read, what makes
// the device what, and what ends it.
std::string ExplainRule(const Rule& rule, const RuleTable& table);

}  // namespace galen::probes
