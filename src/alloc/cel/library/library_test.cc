#include "alloc/cel/library/library.h"

#include <gtest/gtest.h>

namespace galen::alloc::cel {
namespace {

TEST(Library, HasOverloadsByName) {
  EXPECT_EQ(OverloadsOf("_<_").size(), 14u);
  EXPECT_EQ(OverloadsOf("nosuch").size(), 0u);
  const std::span<const Overload> includes = OverloadsOf("includes");
  ASSERT_EQ(includes.size(), 1u);
  EXPECT_TRUE(includes[0].member);
  EXPECT_EQ(includes[0].minor_min, 36);
}

TEST(Library, KnowsWhatItLacks) {
  EXPECT_TRUE(IsUnsupported("cidr"));
  EXPECT_TRUE(IsUnsupported("format"));
  EXPECT_FALSE(IsUnsupported("nosuch"));
  EXPECT_TRUE(OverloadsOf("cidr").empty());
}

TEST(Library, OverloadsTakeTheirKindsOnly) {
  Arena arena;
  const Overload& sum = OverloadsOf("sum")[0];  // of ints
  const Value numbers[] = {Value::Int(1)}, texts[] = {Value::String("a")};
  const Value of_numbers[] = {arena.MakeList(numbers)}, of_texts[] = {arena.MakeList(texts)};
  const Value of_none[] = {arena.MakeList({})}, one[] = {Value::Int(1)};
  EXPECT_TRUE(Takes(sum, of_numbers));
  EXPECT_TRUE(Takes(sum, of_none));
  EXPECT_FALSE(Takes(sum, of_texts));
  EXPECT_FALSE(Takes(sum, one));
  EXPECT_FALSE(Takes(sum, {}));
}

}  // namespace
}  // namespace galen::alloc::cel
