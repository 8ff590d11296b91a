// What a call costs, in CEL's units. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "alloc/cel/values/value.h"

namespace galen::alloc::cel {

// By cel-go's runtime cost tracker, and the Kubernetes libraries' estimators in
// k8s.io/apiserver/pkg/cel/library/cost.go.
enum class CostRule {
  kFree,             // 0
  kOne,              // 1
  kEqual,            // a tenth of the smaller one's size; 1 for a quantity or version on the left
  kSmaller,          // a tenth of the smaller one's size, for texts
  kSum,              // a tenth of both sizes
  kFirst,            // a tenth of the first argument's size
  kFirstTwice,       // a fifth of it
  kSecond,           // a tenth of the second's
  kSecondSize,       // the second's size
  kResultTwice,      // a fifth of the result's size
  kTraversal,        // all that is in the first argument
  kContains,         // a tenth of the first's size times a tenth of the second's
  kPattern,          // a tenth of the text's size times a quarter of the expression's
  kNewList,          // the result's size and a list
  kFlatten,          // the first's size times the depth, and a list
  kSelfCompare,      // twice the square of the first's size, and a list
  kSelfCompareKeys,  // the same of the second's
  kSets,             // both sizes multiplied
  kSetsTwice,
};

// What a call cost.
std::uint64_t CostOf(CostRule rule, std::span<const Value> arguments, const Value& result);

}  // namespace galen::alloc::cel
