#include "alloc/cel/values/value.h"

#include <gtest/gtest.h>

#include "alloc/cel/values/arena.h"

namespace galen::alloc::cel {
namespace {

TEST(Value, HasTheSizeThatCelCounts) {
  Arena arena;
  EXPECT_EQ(SizeOf(Value::String("käse")), 4u);
  EXPECT_EQ(SizeOf(Value::Bytes("käse")), 5u);
  EXPECT_EQ(SizeOf(Value::Int(1000)), 1u);
  const Value items[] = {Value::Int(1), Value::Int(2)};
  const Value list = arena.MakeList(items);
  EXPECT_EQ(SizeOf(list), 2u);
  EXPECT_EQ(SizeOf(Value::Optional(&list)), 2u);
  EXPECT_EQ(SizeOf(Value::Optional(nullptr)), 1u);
}

TEST(Value, SaysItsTypesName) {
  EXPECT_EQ(TypeNameOf(Value()), "null_type");
  EXPECT_EQ(TypeNameOf(Value::Timestamp(0, 0)), "google.protobuf.Timestamp");
  EXPECT_EQ(TypeNameOf(Value::TypeName("int")), "type");
  const Quantity quantity;
  EXPECT_EQ(TypeNameOf(Value::Of(&quantity)), "kubernetes.Quantity");
}

TEST(Value, NumbersOfEqualValueHaveEqualHashes) {
  for (const std::int64_t number : {0L, 1L, -5L, 1L << 40}) {
    const std::size_t hash = HashOf(Value::Int(number));
    EXPECT_EQ(hash, HashOf(Value::Double(static_cast<double>(number))));
    if (number < 0) continue;
    EXPECT_EQ(hash, HashOf(Value::Uint(static_cast<std::uint64_t>(number))));
  }
  const std::uint64_t large = 1ULL << 63;
  EXPECT_EQ(HashOf(Value::Uint(large)), HashOf(Value::Double(static_cast<double>(large))));
  EXPECT_EQ(HashOf(Value::Double(-0.0)), HashOf(Value::Int(0)));
}

TEST(Value, OnlyDoublesFindDoubles) {
  EXPECT_TRUE(Opens(Value::Double(1), Value::Int(1)));
  EXPECT_TRUE(Opens(Value::Uint(1), Value::Int(1)));
  EXPECT_FALSE(Opens(Value::Int(1), Value::Double(1)));
  EXPECT_FALSE(Opens(Value::String("1"), Value::Int(1)));
}

TEST(Value, OfSeveralEntriesTheOneOfTheKeysKindIsFound) {
  for (const int more : {0, 40}) {  // looked at one by one, and by hash
    Arena arena;
    std::vector<MapEntry> entries = {{Value::Uint(1), Value::String("uint")},
                                     {Value::Int(1), Value::String("int")}};
    for (int i = 0; i < more; ++i) entries.push_back({Value::Int(100 + i), Value()});
    const Value map = arena.MakeMap(entries);
    EXPECT_EQ(Find(map.map(), Value::Int(1))->text(), "int");
    EXPECT_EQ(Find(map.map(), Value::Uint(1))->text(), "uint");
    EXPECT_NE(Find(map.map(), Value::Double(1)), nullptr);
    EXPECT_EQ(Find(map.map(), Value::Int(2)), nullptr);
    EXPECT_EQ(Find(map.map(), Value()), nullptr);
  }
}

}  // namespace
}  // namespace galen::alloc::cel
