#include "agent/publish/change_pacer.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kHealthy = HealthState::kHealthy;
constexpr auto kUnhealthy = HealthState::kUnhealthy;

class ChangePacerTest : public ::testing::Test {
 protected:
  void Change(HealthState state) { pacer_.Changed(state, now_); }
  // As a publisher does that looks often: sends what is due, and counts it.
  void Pass(Duration time) {
    for (const Time end = now_ + time; now_ < end; now_ += 1ms) {
      if (untold() && now_ >= pacer_.not_before().value_or(now_)) Send();
    }
  }
  void Send() {
    pacer_.Sent();
    told_ = changes_;
    ++sent_;
  }
  bool untold() const { return told_ != changes_; }
  // A storm: the device turns every `gap`, bad first.
  void Storm(int turns, Duration gap) {
    for (int i = 0; i < turns; ++i) {
      Change(i % 2 == 0 ? kUnhealthy : kHealthy);
      ++changes_;
      Pass(gap);
    }
  }

  Time now_ = Time{} + 1h;
  ChangePacer pacer_;
  int changes_ = 0, told_ = 0, sent_ = 0;
};

TEST_F(ChangePacerTest, ASingleChangeIsToldAtOnce) {
  Change(kUnhealthy);
  EXPECT_EQ(pacer_.not_before(), std::nullopt);
  pacer_.Sent();
  now_ += ChangePacer::kCalm;
  Change(kHealthy);
  EXPECT_EQ(pacer_.not_before(), std::nullopt);
}

TEST_F(ChangePacerTest, ARecoveryRightAfterItsFaultWaitsUntilTheDeviceRests) {
  Change(kUnhealthy);
  pacer_.Sent();
  now_ += 10ms;
  Change(kHealthy);
  EXPECT_EQ(pacer_.not_before(), now_ + ChangePacer::kRest);
}

TEST_F(ChangePacerTest, WhatIsWorseThanThePodSaysNeverWaits) {
  Change(kUnhealthy);
  pacer_.Sent();
  now_ += 10ms;
  Change(kHealthy);
  pacer_.Sent();
  now_ += 10ms;
  Change(kUnhealthy);
  EXPECT_EQ(pacer_.not_before(), std::nullopt);
  Change(kHealthy);
  EXPECT_EQ(pacer_.not_before(), std::nullopt) << "a look was asked for at once; it tells the rest";
}

TEST_F(ChangePacerTest, AStormIsToldTwiceAndItsEndSoonAfterIt) {
  Storm(150, 26ms);
  EXPECT_EQ(sent_, 1);
  Pass(ChangePacer::kRestMost);
  EXPECT_EQ(sent_, 2);
  EXPECT_FALSE(untold());
}

// A driver, an agent or a machine that is busy for a moment.
TEST_F(ChangePacerTest, AStormThatPausesForBreathIsOneStorm) {
  Storm(30, 20ms);
  Pass(400ms);
  Storm(30, 20ms);
  EXPECT_EQ(sent_, 1);
  Pass(ChangePacer::kRestMost);
  EXPECT_EQ(sent_, 2);
}

TEST_F(ChangePacerTest, EachFurtherChangeOfAStormDoublesHowLongItHasToRest) {
  Change(kUnhealthy);
  pacer_.Sent();
  Duration rest = ChangePacer::kRest;
  for (int i = 0; i < 5; ++i) {
    now_ += 10ms;
    Change(i % 2 == 0 ? kHealthy : kUnhealthy);
    EXPECT_EQ(pacer_.not_before(), now_ + std::min(rest, ChangePacer::kRestMost));
    rest *= 2;
  }
}

TEST_F(ChangePacerTest, AStormWithoutEndIsToldNowAndThen) {
  Storm(60'000, 10ms);
  // Ten minutes: what is better is held as long as may be; what is worse then follows it.
  EXPECT_GE(sent_, 100);
  EXPECT_LE(sent_, 260);
  Pass(ChangePacer::kRestMost);
  EXPECT_FALSE(untold());
}

TEST_F(ChangePacerTest, AStormWithPausesIsOneStorm) {
  Storm(500, 120ms);
  // A minute, of which no pause is long enough.
  EXPECT_LE(sent_, 30);
  Pass(ChangePacer::kRestMost);
  EXPECT_FALSE(untold());
}

TEST_F(ChangePacerTest, AfterACalmTimeNothingOfTheStormIsLeft) {
  Storm(500, 120ms);
  Pass(ChangePacer::kRestMost);
  now_ += ChangePacer::kCalm;
  EXPECT_TRUE(pacer_.calm(now_));
  Change(kUnhealthy);
  EXPECT_EQ(pacer_.not_before(), std::nullopt);
  pacer_.Sent();
  Change(kHealthy);
  EXPECT_EQ(pacer_.not_before(), now_ + ChangePacer::kRest);
}

TEST_F(ChangePacerTest, WhatDidNotArriveIsNotHeldBack) {
  Change(kUnhealthy);
  pacer_.Sent();
  now_ += 10ms;
  Change(kHealthy);
  pacer_.Failed();
  EXPECT_EQ(pacer_.not_before(), std::nullopt);
}

}  // namespace
}  // namespace galen::agent
