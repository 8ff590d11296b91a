#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace galen {
namespace {

TEST(Random, SameSeedGivesTheSameRun) {
  Random a(7);
  Random b(7);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(Random(7).Next(), Random(8).Next());
}

TEST(Random, StaysWithinItsBounds) {
  Random random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random.Below(5));
    const double fraction = random.Fraction();
    EXPECT_GE(fraction, 0.0);
    EXPECT_LT(fraction, 1.0);
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
}

TEST(Random, ChanceKeepsToItsProbability) {
  Random random(1);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) hits += random.Chance(0.25) ? 1 : 0;
  EXPECT_NEAR(hits, 2500, 200);
  EXPECT_FALSE(random.Chance(0));
  EXPECT_TRUE(random.Chance(1));
}

TEST(Random, NameSuffixFitsIntoAKubernetesName) {
  Random random(1);
  const std::string suffix = random.NameSuffix(200);
  EXPECT_EQ(suffix.size(), 200u);
  EXPECT_EQ(suffix.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
}

TEST(Random, UuidHasItsVersionAndVariant) {
  Random random(1);
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = random.Uuid();
    ASSERT_EQ(uuid.size(), 36u);
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
    for (const std::size_t dash : {8u, 13u, 18u, 23u}) EXPECT_EQ(uuid[dash], '-');
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(Random, SeedsDiffer) { EXPECT_NE(Random::Seed(), Random::Seed()); }

}  // namespace
}  // namespace galen
