// Reads a table of rules from YAML and checks it as a whole: either every row holds, or the answer
// names every fault with its line, rule and field. Pure.
//
//   signs:
//     - {name: temperature, kind: reading, unit: °C, help: core temperature, usual: 41}
//   defaults:                      # by sign: fields that its rules have unless they say otherwise
//     temperature: {owner: Hardware, unit: °C}
//   rules:
//     - id: temperature-high
//       sign: temperature
//       when: "> 85"
//       state: Unhealthy
//       code: TemperatureHigh
//       sentence: "GPU temperature {value} °C exceeds {threshold} °C"
#pragma once

#include <string_view>

#include "probes/rules/rule.h"

namespace galen::probes {

// A table has room for every XID and SXID there is (NVIDIA's catalog has 173 XIDs), many times
// over; a file past it is a mistake.
inline constexpr std::size_t kRulesMax = 2048;
inline constexpr std::size_t kSignsMax = 256;
inline constexpr std::size_t kRuleFileBytesMax = 1024 * 1024;

// `origin` names the table in reported faults: the file's path, or "built-in gpu rules".
// InvalidArgument when the text is too large, no YAML, or a table with any fault; then nothing of
// it is given. Durations are written as in flags ("250ms", "30s", "5m"). Fields that are not known
// are faults, so that a misspelled one does not change a verdict in silence.
StatusOr<RuleTable> ParseRules(std::string_view text, std::string_view origin);

}  // namespace galen::probes
