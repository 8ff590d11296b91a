#include "alloc/cel/values/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace galen::alloc::cel {
namespace {

// -1, 0, 1, or 9 for an error.
std::int64_t Order(const Value& left, const Value& right) {
  Arena arena;
  const Value order = Compare(arena, left, right);
  return order.IsError() ? 9 : order.integer();
}

TEST(Compare, OrdersNumbersByValueAcrossKinds) {
  EXPECT_EQ(Order(Value::Int(-1), Value::Uint(0)), -1);
  EXPECT_EQ(Order(Value::Uint(UINT64_MAX), Value::Int(-1)), 1);
  EXPECT_EQ(Order(Value::Int(7), Value::Double(7)), 0);
  EXPECT_EQ(Order(Value::Double(6.5), Value::Int(7)), -1);
  EXPECT_EQ(Order(Value::Double(-1), Value::Uint(0)), -1);
  EXPECT_EQ(Order(Value::Double(1e30), Value::Int(INT64_MAX)), 1);
  EXPECT_EQ(Order(Value::Uint(3), Value::Uint(2)), 1);
  EXPECT_EQ(Order(Value::Double(NAN), Value::Int(1)), 9);
  EXPECT_EQ(Order(Value::Int(1), Value::Double(NAN)), 9);
}

TEST(Compare, OrdersWhatElseHasAnOrder) {
  EXPECT_EQ(Order(Value::String("a"), Value::String("b")), -1);
  EXPECT_EQ(Order(Value::Bytes("b"), Value::Bytes("a")), 1);
  EXPECT_EQ(Order(Value::Bool(false), Value::Bool(true)), -1);
  EXPECT_EQ(Order(Value::Timestamp(1, 5), Value::Timestamp(1, 4)), 1);
  EXPECT_EQ(Order(Value::Timestamp(-1, 5), Value::Timestamp(1, 4)), -1);
  EXPECT_EQ(Order(Value::Duration(-1), Value::Duration(1)), -1);
  EXPECT_EQ(Order(Value::String("a"), Value::Int(1)), 9);
  EXPECT_EQ(Order(Value(), Value()), 9);
}

TEST(Compare, ValuesOfDifferentKindsAreNotEqual) {
  Arena arena;
  EXPECT_TRUE(Equal(arena, Value::String("1"), Value::Int(1)).IsFalse());
  EXPECT_TRUE(Equal(arena, Value::String("a"), Value::Bytes("a")).IsFalse());
  EXPECT_TRUE(Equal(arena, Value(), Value::Int(0)).IsFalse());
  EXPECT_TRUE(Equal(arena, Value(), Value()).IsTrue());
  EXPECT_TRUE(Equal(arena, Value::Double(NAN), Value::Double(NAN)).IsFalse());
}

TEST(Compare, QuantitiesAndVersionsEqualTheirOwnKindOnly) {
  Arena arena;
  const Quantity one = Quantity::Of(1);
  const SemanticVersion version = ParseSemanticVersion("1.0.0+a").value();
  const SemanticVersion same = ParseSemanticVersion("1.0.0+b").value();
  EXPECT_TRUE(Equal(arena, Value::Of(&one), Value::Of(&one)).IsTrue());
  EXPECT_TRUE(Equal(arena, Value::Of(&version), Value::Of(&same)).IsTrue());
  EXPECT_TRUE(Equal(arena, Value::Of(&one), Value::Int(1)).IsError());
  EXPECT_TRUE(Equal(arena, Value::Int(1), Value::Of(&one)).IsFalse());
  EXPECT_TRUE(Equal(arena, Value::Of(&one), Value()).IsFalse());
}

TEST(Compare, ListsMapsAndOptionalsAreEqualByTheirParts) {
  Arena arena;
  const Value one[] = {Value::Int(1)}, real[] = {Value::Double(1)}, two[] = {Value::Int(2)};
  EXPECT_TRUE(Equal(arena, arena.MakeList(one), arena.MakeList(real)).IsTrue());
  EXPECT_TRUE(Equal(arena, arena.MakeList(one), arena.MakeList(two)).IsFalse());
  EXPECT_TRUE(Equal(arena, arena.MakeList(one), arena.MakeList({})).IsFalse());
  const MapEntry a[] = {{Value::String("a"), Value::Int(1)}};
  const MapEntry b[] = {{Value::String("b"), Value::Int(1)}};
  EXPECT_TRUE(Equal(arena, arena.MakeMap(a), arena.MakeMap(a)).IsTrue());
  EXPECT_TRUE(Equal(arena, arena.MakeMap(a), arena.MakeMap(b)).IsFalse());
  EXPECT_TRUE(Equal(arena, Value::Optional(one), Value::Optional(real)).IsTrue());
  EXPECT_TRUE(Equal(arena, Value::Optional(one), Value::Optional(nullptr)).IsFalse());
  EXPECT_TRUE(Equal(arena, Value::Optional(nullptr), Value::Optional(nullptr)).IsTrue());
}

}  // namespace
}  // namespace galen::alloc::cel
