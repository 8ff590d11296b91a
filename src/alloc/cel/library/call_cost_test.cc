#include "alloc/cel/library/call_cost.h"

#include <gtest/gtest.h>

#include "alloc/cel/values/arena.h"

namespace galen::alloc::cel {
namespace {

TEST(CallCost, GrowsWithWhatIsLookedAt) {
  Arena arena;
  const Value texts[] = {Value::String("0123456789a"), Value::String("01234")};
  const Value none;
  EXPECT_EQ(CostOf(CostRule::kFree, texts, none), 0u);
  EXPECT_EQ(CostOf(CostRule::kOne, texts, none), 1u);
  EXPECT_EQ(CostOf(CostRule::kSmaller, texts, none), 1u);
  EXPECT_EQ(CostOf(CostRule::kSum, texts, none), 2u);
  EXPECT_EQ(CostOf(CostRule::kFirst, texts, none), 2u);
  EXPECT_EQ(CostOf(CostRule::kFirstTwice, texts, none), 3u);
  EXPECT_EQ(CostOf(CostRule::kSecond, texts, none), 1u);
  EXPECT_EQ(CostOf(CostRule::kContains, texts, none), 2u);
  EXPECT_EQ(CostOf(CostRule::kPattern, texts, none), 4u);
  EXPECT_EQ(CostOf(CostRule::kResultTwice, {}, texts[0]), 3u);
  const Value lists[] = {arena.MakeList(texts), arena.MakeList(texts)};
  EXPECT_EQ(CostOf(CostRule::kSecondSize, lists, none), 2u);
  EXPECT_EQ(CostOf(CostRule::kTraversal, lists, none), 1u);
  EXPECT_EQ(CostOf(CostRule::kNewList, {}, lists[0]), 13u);
  EXPECT_EQ(CostOf(CostRule::kSelfCompare, lists, none), 19u);
  EXPECT_EQ(CostOf(CostRule::kSets, lists, none), 5u);
  EXPECT_EQ(CostOf(CostRule::kSetsTwice, lists, none), 9u);
}

// For what was joined so often that the square of its size overflows.
TEST(CallCost, StaysHighForHugeLists) {
  const List huge{.size = std::size_t{1} << 40};
  const Value both[] = {Value::Of(&huge), Value::Of(&huge)};
  EXPECT_GT(CostOf(CostRule::kSets, both, {}), 1'000'000u);
  EXPECT_GT(CostOf(CostRule::kSetsTwice, both, {}), 1'000'000u);
  const Value depths[] = {both[0], Value::Int(INT64_MAX)};
  EXPECT_GT(CostOf(CostRule::kFlatten, depths, {}), 1'000'000u);
}

TEST(CallCost, OfQuantitiesThatAreComparedIsOne) {
  const Quantity quantity;
  const Value both[] = {Value::Of(&quantity), Value::String("")};
  EXPECT_EQ(CostOf(CostRule::kEqual, both, {}), 1u);
  const Value texts[] = {Value::String(""), Value::String("")};
  EXPECT_EQ(CostOf(CostRule::kEqual, texts, {}), 0u);
}

TEST(CallCost, TakesErrorsForArguments) {
  const Value errors[] = {Value::Error("a"), Value::Error("b")};
  for (const CostRule rule :
       {CostRule::kEqual, CostRule::kFlatten, CostRule::kSelfCompare, CostRule::kTraversal}) {
    EXPECT_GE(CostOf(rule, errors, errors[0]), 1u);
  }
}

}  // namespace
}  // namespace galen::alloc::cel
