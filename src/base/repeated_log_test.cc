#include "base/repeated_log.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

using namespace std::chrono_literals;

constexpr Time kFirstLine{1h};

// How many of `lines` are logged at `now`.
int CountLogged(LogSparsely& log, const std::string& key, int lines, Time now) {
  int count = 0;
  for (int i = 0; i < lines; ++i) count += log.Take(key, now).has_value();
  return count;
}

TEST(LogOnce, EachKeyIsLoggedOnceUntilItIsForgotten) {
  LogOnce log;
  EXPECT_TRUE(log.First("a"));
  EXPECT_FALSE(log.First("a"));
  log.Forget("a");
  log.Forget("never logged");
  EXPECT_TRUE(log.First("a"));
}

// Past the limit nothing new was logged any more, for as long as the agent lived.
TEST(LogOnce, SomethingNewIsLoggedHoweverMuchWasLoggedBefore) {
  LogOnce log;
  for (std::size_t i = 0; i < 3 * LogOnce::kKeysMax; ++i) {
    EXPECT_TRUE(log.First(std::to_string(i)));
  }
  EXPECT_FALSE(log.First(std::to_string(3 * LogOnce::kKeysMax - 1)));
  EXPECT_FALSE(log.First(std::to_string(2 * LogOnce::kKeysMax))) << "the limit is all used";
  EXPECT_TRUE(log.First("0")) << "logged longest ago";
}

TEST(LogSparsely, ABurstIsLoggedLineByLine) {
  LogSparsely log;
  EXPECT_EQ(CountLogged(log, "a", 1'000, kFirstLine), LogSparsely::kBurst);
}

TEST(LogSparsely, AfterABurstALineNowAndThenSaysHowManyWereLeftOut) {
  LogSparsely log;
  CountLogged(log, "a", 1'000, kFirstLine);
  EXPECT_EQ(log.Take("a", kFirstLine + 9s), std::nullopt);
  EXPECT_EQ(log.Take("a", kFirstLine + 10s), 801u);
  EXPECT_EQ(log.Take("a", kFirstLine + 10s), std::nullopt);
  EXPECT_EQ(log.Take("a", kFirstLine + 20s), 1u);
}

TEST(LogSparsely, OneFloodLeavesTheOthersTheirLines) {
  LogSparsely log;
  CountLogged(log, "a", 1'000, kFirstLine);
  EXPECT_EQ(log.Take("b", kFirstLine), 0u);
}

TEST(LogSparsely, AQuietTimeAllowsABurstAgain) {
  LogSparsely log;
  CountLogged(log, "a", 1'000, kFirstLine);
  EXPECT_EQ(CountLogged(log, "a", 1'000, kFirstLine + 24h), LogSparsely::kBurst);
}

TEST(LogSparsely, OfTooManyKeysTheOneThatWasLoggedLongestAgoIsNewAgain) {
  LogSparsely log;
  CountLogged(log, "first", 1'000, kFirstLine);
  for (std::size_t i = 0; i < LogSparsely::kKeysMax; ++i) {
    log.Take("key " + std::to_string(i), kFirstLine + 1s);
  }
  EXPECT_EQ(CountLogged(log, "first", 1'000, kFirstLine + 1s), LogSparsely::kBurst);
}

}  // namespace
}  // namespace galen
