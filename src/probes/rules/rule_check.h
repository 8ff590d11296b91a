// What a rule and a table must keep to beyond the types of their fields. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/yaml_lines.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// Matches that one rule remembers, each with its time, for each device: a bound on memory.
inline constexpr int kCountMax = 64;  // matches that one rule remembers

// Collects every fault of a file: "rules.yaml:12: temperature-high: when: ...".
// A person repairs a file once, not fault by fault. At sets the place, Add notes what is wrong
// there.
class RuleFaults {
 public:
  explicit RuleFaults(std::string origin) : origin_(std::move(origin)) {}

  // Where the next faults are: a line (0: unknown) and a row's name.
  void At(std::size_t line, std::string row);
  // `field` may be "" when the row as a whole is meant.
  void Add(std::string_view field, std::string_view what);
  // All faults, one a line; past kFaultsTold the rest is counted.
  Status ToStatus() const;

  static constexpr std::size_t kFaultsTold = 50;

 private:
  const std::string origin_;
  std::size_t line_ = 0;
  std::string row_;
  std::vector<std::string> faults_;
};

// One rule against the signs of its table, which must be read before. Adds to `faults`, where At
// has named the row.
void CheckRule(const Rule& rule, const RuleTable& table, RuleFaults& faults);
// Rules and signs against each other: names used twice, `clears` that name nothing. Once, after the
// last row. Adds to `faults`.
void CheckTable(const RuleTable& table, const YamlLines& lines, RuleFaults& faults);

}  // namespace galen::probes
