#include "base/told_seldom.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{1h};

// How many of `lines` are logged at `now`.
int Told(ToldSeldom& told, const std::string& key, int lines, Time now) {
  int count = 0;
  for (int i = 0; i < lines; ++i) count += told.Take(key, now).has_value();
  return count;
}

TEST(ToldSeldom, ABurstIsToldLineByLine) {
  ToldSeldom told;
  EXPECT_EQ(Told(told, "a", 1'000, kStart), ToldSeldom::kBurst);
}

TEST(ToldSeldom, AfterABurstALineNowAndThenSaysHowManyWereLeftOut) {
  ToldSeldom told;
  Told(told, "a", 1'000, kStart);
  EXPECT_EQ(told.Take("a", kStart + 9s), std::nullopt);
  EXPECT_EQ(told.Take("a", kStart + 10s), 801u);
  EXPECT_EQ(told.Take("a", kStart + 10s), std::nullopt);
  EXPECT_EQ(told.Take("a", kStart + 20s), 1u);
}

TEST(ToldSeldom, OneFloodLeavesTheOthersTheirLines) {
  ToldSeldom told;
  Told(told, "a", 1'000, kStart);
  EXPECT_EQ(told.Take("b", kStart), 0u);
}

TEST(ToldSeldom, AQuietTimeAllowsABurstAgain) {
  ToldSeldom told;
  Told(told, "a", 1'000, kStart);
  EXPECT_EQ(Told(told, "a", 1'000, kStart + 24h), ToldSeldom::kBurst);
}

TEST(ToldSeldom, OfTooManyKeysTheOneThatWasToldLongestAgoIsNewAgain) {
  ToldSeldom told;
  Told(told, "first", 1'000, kStart);
  for (std::size_t i = 0; i < ToldSeldom::kKeysMax; ++i) {
    told.Take("key " + std::to_string(i), kStart + 1s);
  }
  EXPECT_EQ(Told(told, "first", 1'000, kStart + 1s), ToldSeldom::kBurst);
}

}  // namespace
}  // namespace galen::agent
