#include "alloc/cel/library/call_cost.h"

#include <algorithm>
#include <cmath>

namespace galen::alloc::cel {
namespace {

// Whole units; of more than any evaluation may cost, a number that still can be added to.
std::uint64_t Units(double cost) { return static_cast<std::uint64_t>(std::min(cost, 1e18)); }

// Sizes multiplied, and no less where that overflows.
std::uint64_t Product(std::uint64_t left, std::uint64_t right) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(left, right, &product) ? std::uint64_t{1} << 60
                                                       : std::min(product, std::uint64_t{1} << 60);
}

std::uint64_t Share(std::uint64_t size, double factor) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(size) * factor));
}

// Units for each value in it, and a tenth of a unit for each byte of a text.
std::uint64_t TraversalOf(const Value& value) {
  if (value.IsText()) {
    return static_cast<std::uint64_t>(static_cast<double>(value.text().size()) * 0.1);
  }
  std::uint64_t cost = 0;
  if (value.is(Kind::kList)) {
    for (std::size_t i = 0; i < value.list().size; ++i) cost += TraversalOf(At(value.list(), i));
    return cost;
  }
  if (!value.is(Kind::kMap)) return 1;
  for (std::size_t i = 0; i < value.map().size; ++i) {
    cost += TraversalOf(value.map().entries[i].key) + TraversalOf(value.map().entries[i].value);
  }
  return cost;
}

constexpr std::uint64_t kListCost = 10;

std::uint64_t SelfCompareCost(const Value& list) {
  if (!list.is(Kind::kList)) return 1;
  const std::uint64_t size = list.list().size;
  const bool texts = size > 0 && At(list.list(), 0).IsText();
  const double square = static_cast<double>(size) * static_cast<double>(size);
  return Units(square * (texts ? 2.1 : 2.0)) + 1 + kListCost;
}

std::uint64_t SmallerCost(std::span<const Value> arguments) {
  return Share(std::min(SizeOf(arguments[0]), SizeOf(arguments[1])), 0.1);
}

std::uint64_t EqualCost(std::span<const Value> arguments) {
  if (arguments[0].is(Kind::kQuantity) || arguments[0].is(Kind::kSemver)) return 1;
  return SmallerCost(arguments);
}

std::uint64_t FlattenCost(std::span<const Value> arguments) {
  double depth = 1;
  const bool given = arguments.size() == 2 && arguments[1].is(Kind::kInt);
  if (given && arguments[1].integer() >= 0) depth = static_cast<double>(arguments[1].integer());
  return Units(static_cast<double>(SizeOf(arguments[0])) * depth) + 1 + kListCost;
}

}  // namespace

std::uint64_t CostOf(CostRule rule, std::span<const Value> arguments, const Value& result) {
  switch (rule) {
    case CostRule::kFree:
      return 0;
    case CostRule::kOne:
      return 1;
    case CostRule::kEqual:
      return EqualCost(arguments);
    case CostRule::kSmaller:
      return SmallerCost(arguments);
    case CostRule::kSum:
      return Share(SizeOf(arguments[0]) + SizeOf(arguments[1]), 0.1);
    case CostRule::kFirst:
      return Share(SizeOf(arguments[0]), 0.1);
    case CostRule::kFirstTwice:
      return Share(SizeOf(arguments[0]), 0.2);
    case CostRule::kSecond:
      return Share(SizeOf(arguments[1]), 0.1);
    case CostRule::kSecondSize:
      return SizeOf(arguments[1]);
    case CostRule::kResultTwice:
      return Share(SizeOf(result), 0.2);
    case CostRule::kTraversal:
      return TraversalOf(arguments[0]);
    case CostRule::kContains:
      return Share(SizeOf(arguments[0]), 0.1) * Share(SizeOf(arguments[1]), 0.1);
    case CostRule::kPattern:
      return Share(SizeOf(arguments[0]) + 1, 0.1) * Share(SizeOf(arguments[1]), 0.25);
    case CostRule::kNewList:
      return SizeOf(result) + 1 + kListCost;
    case CostRule::kFlatten:
      return FlattenCost(arguments);
    case CostRule::kSelfCompare:
      return SelfCompareCost(arguments[0]);
    case CostRule::kSelfCompareKeys:
      return SelfCompareCost(arguments[1]);
    case CostRule::kSets:
      return Product(SizeOf(arguments[0]), SizeOf(arguments[1])) + 1;
    case CostRule::kSetsTwice:
      return 2 * Product(SizeOf(arguments[0]), SizeOf(arguments[1])) + 1;
  }
  return 1;
}

}  // namespace galen::alloc::cel
