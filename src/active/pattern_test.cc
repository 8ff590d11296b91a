#include <gtest/gtest.h>

#include <set>

#include "active/compute_device.h"

namespace galen::active {
namespace {

TEST(Pattern, ABitWalksFromWordToWordAndComesAround) {
  const Pattern walking{.argument = 1};
  EXPECT_EQ(PatternWord(walking, 0), 1u);
  EXPECT_EQ(PatternWord(walking, 63), std::uint64_t{1} << 63);
  EXPECT_EQ(PatternWord(walking, 64), 1u);
  const Pattern inverted{.argument = 1, .mask = ~std::uint64_t{0}};
  EXPECT_EQ(PatternWord(inverted, 2), ~std::uint64_t{4});
}

TEST(Pattern, AnAddressIsThatOfItsWord) {
  const Pattern address{.kind = PatternKind::kAddress, .argument = 0x1000};
  EXPECT_EQ(PatternWord(address, 0), 0x1000u);
  EXPECT_EQ(PatternWord(address, 3), 0x1018u);
}

// The first numbers that splitmix64 gives for the seed 0, by its authors' program.
TEST(Pattern, WhatIsRandomIsSplitmix64) {
  const Pattern random{.kind = PatternKind::kRandom};
  EXPECT_EQ(PatternWord(random, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(PatternWord(random, 1), 0x6e789e6aa1b965f4u);
}

TEST(Pattern, EightRoundsBringEachWalkingBitToEachPlaceAndEachBitIsBothInEveryRound) {
  std::set<std::uint64_t> ones;
  for (int round = 0; round < 8; ++round) {
    std::uint64_t was_one = 0, was_zero = 0;
    for (const Pattern& pattern : PatternsOfRound(7, round)) {
      if (pattern.name == "walking ones") ones.insert(pattern.argument);
      was_one |= PatternWord(pattern, 5);
      was_zero |= ~PatternWord(pattern, 5);
    }
    EXPECT_EQ(was_one & was_zero, ~std::uint64_t{0});
  }
  EXPECT_EQ(ones.size(), 64u);
}

TEST(Pattern, WhatIsRandomDiffersByRoundAndSeed) {
  EXPECT_NE(PatternsOfRound(1, 0), PatternsOfRound(1, 8));
  EXPECT_NE(PatternsOfRound(1, 0), PatternsOfRound(2, 0));
  EXPECT_EQ(PatternsOfRound(1, 0), PatternsOfRound(1, 0));
}

}  // namespace
}  // namespace galen::active
