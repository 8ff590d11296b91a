#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{1h};

// How often `tokens` can be taken at `now`.
int TakeAll(TokenBucket& bucket, Time now, std::int64_t tokens = 1) {
  int taken = 0;
  while (bucket.Take(now, tokens)) ++taken;
  return taken;
}

TEST(TokenBucket, ABurstPassesAsAWhole) {
  TokenBucket bucket(10'000, 20ms);
  EXPECT_EQ(TakeAll(bucket, kStart), 10'000);
}

TEST(TokenBucket, AFloodPassesAtASteadyPace) {
  TokenBucket bucket(10'000, 20ms);
  TakeAll(bucket, kStart);
  EXPECT_EQ(TakeAll(bucket, kStart + 1s), 50);
  EXPECT_EQ(TakeAll(bucket, kStart + 2s), 50);
}

TEST(TokenBucket, PartsOfARefillAddUp) {
  TokenBucket bucket(3, 1s);
  TakeAll(bucket, kStart);
  EXPECT_FALSE(bucket.Take(kStart + 999ms));
  EXPECT_TRUE(bucket.Take(kStart + 1500ms));
  EXPECT_TRUE(bucket.Take(kStart + 2s));
  EXPECT_FALSE(bucket.Take(kStart + 2s));
}

TEST(TokenBucket, AQuietTimeFillsTheBucketAndNoMore) {
  TokenBucket bucket(10'000, 20ms);
  TakeAll(bucket, kStart);
  EXPECT_EQ(TakeAll(bucket, kStart + 24h), 10'000);
}

TEST(TokenBucket, WhoWaitsAsLongAsItSaysPasses) {
  TokenBucket bucket(10, 20ms);
  TakeAll(bucket, kStart);
  EXPECT_EQ(bucket.Wait(kStart, 3), 60ms);
  EXPECT_FALSE(bucket.Take(kStart + 60ms - 1ns, 3));
  EXPECT_EQ(bucket.Wait(kStart + 60ms, 3), 0ms);
  EXPECT_TRUE(bucket.Take(kStart + 60ms, 3));
}

TEST(TokenBucket, WhatCostsMoreThanTheCapacityPassesWhenItIsFull) {
  TokenBucket bucket(10, 20ms);
  EXPECT_TRUE(bucket.Take(kStart, 1'000'000));
  EXPECT_FALSE(bucket.Take(kStart));
  EXPECT_EQ(bucket.Wait(kStart, 1'000'000), 200ms);
}

TEST(TokenBucket, OwesWhatWasSpentBeyondIt) {
  TokenBucket bucket(10, 20ms);
  bucket.Spend(kStart, 10);
  EXPECT_EQ(bucket.Wait(kStart, 0), 0ms);
  bucket.Spend(kStart, 25);
  EXPECT_EQ(bucket.Wait(kStart, 0), 500ms);
  EXPECT_FALSE(bucket.Take(kStart + 500ms));
  EXPECT_TRUE(bucket.Take(kStart + 520ms));
}

TEST(TokenBucket, IsFullAtTheVeryBeginningOfTime) {
  TokenBucket bucket(2, 1s);
  EXPECT_EQ(TakeAll(bucket, Time{}), 2);
}

}  // namespace
}  // namespace galen
