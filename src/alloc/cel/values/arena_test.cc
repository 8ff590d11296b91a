#include "alloc/cel/values/arena.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace galen::alloc::cel {
namespace {

Value Numbers(Arena& arena, std::int64_t from, std::int64_t count) {
  std::vector<Value> items;
  for (std::int64_t i = from; i < from + count; ++i) items.push_back(Value::Int(i));
  return arena.MakeList(items);
}

TEST(Arena, JoinsListsShortAndLong) {
  for (const std::int64_t size : {1, 100, 300}) {
    Arena arena;
    const Value joined = arena.Join(Numbers(arena, 0, size), Numbers(arena, size, size));
    const Value twice = arena.Join(joined, joined);
    ASSERT_EQ(twice.list().size, static_cast<std::size_t>(4 * size));
    for (std::int64_t i = 0; i < 4 * size; ++i) {
      EXPECT_EQ(At(twice.list(), static_cast<std::size_t>(i)).integer(), i % (2 * size));
    }
  }
}

TEST(Arena, JoinsTheEmptyList) {
  Arena arena;
  const Value one = Numbers(arena, 0, 1);
  EXPECT_EQ(&arena.Join(one, arena.MakeList({})).list(), &one.list());
  EXPECT_EQ(&arena.Join(arena.MakeList({}), one).list(), &one.list());
}

TEST(Arena, DoublesAListWithoutMemory) {
  Arena arena;
  Value list = Numbers(arena, 0, 300);
  for (int i = 0; i < 40; ++i) list = arena.Join(list, list);
  EXPECT_EQ(list.list().size, 300ULL << 40);
  EXPECT_EQ(At(list.list(), (300ULL << 40) - 1).integer(), 299);
  for (int i = 0; i < 40; ++i) list = arena.Join(list, list);
  EXPECT_TRUE(arena.over());
}

TEST(Arena, RefusesWhatGoesBeyondItsBounds) {
  Arena arena;
  EXPECT_TRUE(arena.Holds(Arena::kBytesMax));
  arena.Room<char>(100);
  EXPECT_FALSE(arena.Holds(Arena::kBytesMax));
  EXPECT_FALSE(arena.Holds(SIZE_MAX));
  EXPECT_TRUE(arena.Work(Arena::kStepsMax));
  EXPECT_FALSE(arena.over());
  EXPECT_FALSE(arena.Work(1));
  EXPECT_TRUE(arena.OverWork().IsError());
  EXPECT_TRUE(arena.over());
}

TEST(Arena, IsOverAsSoonAsRoomPassesTheBound) {
  Arena arena;
  arena.Room<char>(Arena::kBytesMax);
  EXPECT_FALSE(arena.over());
  arena.Room<char>(1);
  EXPECT_TRUE(arena.over());
  EXPECT_FALSE(arena.Holds(0));
}

TEST(Arena, IsOverAsSoonAsWorkPassesTheBound) {
  Arena arena;
  EXPECT_TRUE(arena.WorkOn(Value::String(std::string(1000, 'a'))));
  EXPECT_EQ(arena.steps(), 101u);
  EXPECT_FALSE(arena.Work(UINT64_MAX));
  EXPECT_TRUE(arena.over());
  EXPECT_FALSE(arena.Work(0));
  EXPECT_TRUE(arena.Stopped().IsError());
}

TEST(Arena, CopiesAListThatWasJoinedVeryOften) {
  Arena arena;
  Value list = Numbers(arena, 0, 300);
  for (std::int64_t i = 300; i < 500; ++i) list = arena.Join(list, Numbers(arena, i, 1));
  EXPECT_LE(list.list().depth, 64);
  for (std::int64_t i = 0; i < 500; ++i) {
    EXPECT_EQ(At(list.list(), static_cast<std::size_t>(i)).integer(), i);
  }
}

TEST(Arena, CountsCostUpToTheEnd) {
  Arena arena;
  arena.Charge(UINT64_MAX - 1);
  arena.Charge(5);
  EXPECT_EQ(arena.cost(), UINT64_MAX);
}

TEST(MapBuilder, KeepsTheFirstOrTheLastOfAKey) {
  Arena arena;
  MapBuilder builder;
  EXPECT_TRUE(builder.Insert(Value::Int(1), Value::String("a")));
  EXPECT_FALSE(builder.Insert(Value::Int(1), Value::String("b")));
  EXPECT_FALSE(builder.Insert(Value::Uint(1), Value::String("b")));
  builder.Set(Value::Int(1), Value::String("c"));
  builder.Set(Value::Uint(1), Value::String("d"));
  EXPECT_EQ(builder.size(), 2u);
  EXPECT_EQ(Find(builder.Build(arena).map(), Value::Int(1))->text(), "c");
  builder.Remove(Value::Int(1));
  builder.Remove(Value::Int(9));
  EXPECT_EQ(builder.size(), 1u);
}

// Against a set, through the size at which it begins to hash.
TEST(MapBuilder, IsASetOfItsKeys) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Arena arena;
    MapBuilder builder;
    std::set<std::int64_t> keys;
    for (int i = 0; i < 200; ++i) {
      const auto key = static_cast<std::int64_t>(random.Below(80));
      if (random.Below(4) == 0) {
        builder.Remove(Value::Int(key));
        keys.erase(key);
      } else {
        EXPECT_EQ(builder.Insert(Value::Int(key), Value::Int(key)), keys.insert(key).second)
            << "seed " << seed;
      }
    }
    const Value map = builder.Build(arena);
    EXPECT_EQ(map.map().size, keys.size()) << "seed " << seed;
    for (std::int64_t key = 0; key < 80; ++key) {
      EXPECT_EQ(Find(map.map(), Value::Int(key)) != nullptr, keys.contains(key)) << "seed " << seed;
    }
  }
}

TEST(Arena, WhatWasTooLargeToMakeStaysAnErrorWhenItIsJoined) {
  Arena arena;
  const Value error = arena.TooLarge();
  const Value one = Numbers(arena, 0, 1);
  EXPECT_EQ(arena.Join(error, one).text(), error.text());
  EXPECT_EQ(arena.Join(one, error).text(), error.text());
  EXPECT_TRUE(arena.Join(error, error).IsError());
}

}  // namespace
}  // namespace galen::alloc::cel
