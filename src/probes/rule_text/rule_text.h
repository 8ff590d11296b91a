// Rules as people and editors read them. Pure.
#pragma once

#include <string>

#include "base/data/json.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// The JSON schema of what ParseRules takes, for editors and CI. By JSON Schema 2020-12
// (https://json-schema.org/draft/2020-12). What a schema cannot say, such as that a rule's sign is
// there, `galen rules check` says.
Json RulesSchema();

// As it stands in a file: ParseMatch reads it back.
std::string MatchText(const Match& match);

// The rule in a few lines, indented by two: where its sign is read, which values make the device
// what, and what ends it. Numbers have the unit of their sign.
std::string ExplainRule(const Rule& rule, const RuleTable& table);

}  // namespace galen::probes
