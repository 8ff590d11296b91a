// Reads a row of `signs` of a rules file, where the sign comes from, and a row of `exporters`.
#pragma once

#include "probes/rule_file/rule_reader.h"
#include "probes/rule_file/rule_row.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// Adds what is wrong to `faults`, where At has named the row.
SignSpec ReadSign(RuleRow row, RuleFaults& faults);
ExporterSpec ReadExporter(RuleRow row, RuleFaults& faults);

}  // namespace galen::probes
