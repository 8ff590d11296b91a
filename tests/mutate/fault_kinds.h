// The kinds of fault that a tired engineer makes, each a function from a source to all places where
// it can be made. Lines that nobody would miss are never named: what is written to the log, checks
// of our own mistakes, room reserved ahead (CONTRIBUTING.md, "Planted faults").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/mutate/cpp_code.h"

namespace galen::mutate {

// One change of a source: `length` bytes at `begin` become `after`.
struct Change {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::string after;
};

// A statement that is no declaration, or an early exit with its condition, is gone.
std::vector<Change> StatementsGone(const Code& code);
// The condition of an if or a loop, or an == or != elsewhere, is its opposite.
std::vector<Change> ConditionsNegated(const Code& code);
// < and <=, > and >= take each other's place; a "+ 1" or "- 1" is gone.
std::vector<Change> BoundsOffByOne(const Code& code);
// "+=", "-=" and "|=" forget what was there before.
std::vector<Change> SumsAssigned(const Code& code);
// std::max and std::min take each other's place; "x = std::max(x, y)" is "x = y", and so for min.
std::vector<Change> GreatestTaken(const Code& code);
// First and last, lower and upper, least and greatest element take each other's place.
std::vector<Change> EndsSwapped(const Code& code);
// A comparison that looks at a UID always says "the same".
std::vector<Change> UidsNotCompared(const Code& code);
// What removes something from a container is gone.
std::vector<Change> ErasesGone(const Code& code);
// Two calls that follow each other, in the other order.
std::vector<Change> CallsSwapped(const Code& code);

struct FaultKind {
  std::string_view name;
  std::vector<Change> (*find)(const Code&);
};
// All of the above, in that order.
const std::vector<FaultKind>& FaultKinds();

}  // namespace galen::mutate
