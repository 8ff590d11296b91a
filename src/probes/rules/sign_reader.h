// Reads a row of `signs` of a rules file, and where the sign comes from.
#pragma once

#include "probes/rules/rule.h"
#include "probes/rules/rule_reader.h"
#include "probes/rules/rule_row.h"

namespace galen::probes {

// Adds what is wrong to `faults`, where At has named the row.
SignSpec ReadSign(RuleRow row, RuleFaults& faults);

}  // namespace galen::probes
