// The rules of a table by sign, so that a reading meets only the few rules that look at it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/rules/rule.h"

namespace galen::probes {

struct SignUse {
  const SignSpec* spec = nullptr;    // of the table, which outlives this
  std::vector<std::size_t> rules{};  // by place in the table
  bool needs_number = false;         // a rule weighs it
  bool needs_whole = false;          // a rule looks at its bits
  bool has_baseline = false;         // a rule compares with the best value
  bool is_condition = false;         // a rule counts only while this sign says so
  // A rule compares with peers: its place among such signs.
  std::optional<std::size_t> peers{};
};

// Whether the rule compares a reading with those of other devices.
bool AsksForPeers(const Rule& rule);

// By name.
using SignUses = std::map<std::string, SignUse, std::less<>>;

// For each rule, by place in the table, the rules that supersede it.
std::vector<std::vector<std::size_t>> SupersedersOf(const RuleTable& table);

// One for each sign that the table declares.
SignUses UsesOf(const RuleTable& table);

}  // namespace galen::probes
