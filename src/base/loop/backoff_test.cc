#include "base/loop/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace galen {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesFromTheFirstDelayUpToTheBound) {
  Random random(1);
  Backoff backoff({.first = 100ms, .most = 1s});
  for (const Duration whole : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    const Duration delay = backoff.Next(random);
    EXPECT_GE(delay, whole / 2);
    EXPECT_LE(delay, whole);
  }
}

TEST(Backoff, SpreadsThoseThatFailTogether) {
  Random random(1);
  std::set<Duration> delays;
  for (int i = 0; i < 100; ++i) delays.insert(Backoff({.first = 1s, .most = 1s}).Next(random));
  EXPECT_GT(delays.size(), 90u);
  EXPECT_GT(*delays.rbegin() - *delays.begin(), 400ms);
}

TEST(Backoff, StartsOverAfterASuccess) {
  Random random(1);
  Backoff backoff({.first = 10ms, .most = 1h});
  for (int i = 0; i < 10; ++i) (void)backoff.Next(random);
  EXPECT_EQ(backoff.failures(), 10);
  backoff.Reset();
  EXPECT_EQ(backoff.failures(), 0);
  EXPECT_LE(backoff.Next(random), 10ms);
}

TEST(Backoff, NeverOverflowsHoweverOftenItFails) {
  Random random(1);
  Backoff backoff({.first = 1ns, .most = Duration::max()});
  for (int i = 0; i < 1000; ++i) EXPECT_GE(backoff.Next(random), 0ns);
  EXPECT_GE(backoff.Next(random), Duration::max() / 2);
}

TEST(Backoff, FirstDelayBeyondTheBoundIsTheBound) {
  Random random(1);
  EXPECT_LE(Backoff({.first = 1min, .most = 1s}).Next(random), 1s);
}

}  // namespace
}  // namespace galen
