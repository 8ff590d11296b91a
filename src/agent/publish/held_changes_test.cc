#include "agent/publish/held_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HeldChangesTest : public ::testing::Test {
 protected:
  void Turn(HealthState state, const std::string& device = "gpu-0") {
    changes_.Expect(pod_, {.id = {"gpu.example.com", "node-1", device}, .state = state}, now_);
  }
  Duration Hold() const { return changes_.HoldOf(pod_, now_); }

  const ObjectKey pod_{"default", "a"};
  Time now_{1h};
  HeldChanges changes_;
};

TEST_F(HeldChangesTest, ASingleChangeIsNotHeldAndStaysUntilItsWriteArrives) {
  Turn(HealthState::kUnhealthy);
  EXPECT_EQ(Hold(), 0ms);
  const HeldChanges::Changes sent = changes_.Send(pod_);
  EXPECT_THAT(sent, SizeIs(1));
  EXPECT_THAT(changes_.Send(pod_), SizeIs(1)) << "it has not arrived";
  changes_.OnWritten(pod_, sent);
  EXPECT_THAT(changes_.Send(pod_), IsEmpty());
}

TEST_F(HeldChangesTest, WhatChangesWhileItIsWrittenIsStillToBeShown) {
  Turn(HealthState::kUnhealthy);
  const HeldChanges::Changes sent = changes_.Send(pod_);
  Turn(HealthState::kHealthy);
  changes_.OnWritten(pod_, sent);
  EXPECT_THAT(changes_.Send(pod_), SizeIs(1));
}

TEST_F(HeldChangesTest, AStormIsHeldAndAnotherDeviceOfThePodIsNot) {
  Turn(HealthState::kUnhealthy);
  changes_.OnWritten(pod_, changes_.Send(pod_));
  now_ += 10ms;
  Turn(HealthState::kHealthy);
  EXPECT_GT(Hold(), 0ms);
  Turn(HealthState::kUnhealthy, "gpu-1");
  EXPECT_EQ(Hold(), 0ms);
}

TEST_F(HeldChangesTest, AfterAFailedWriteNothingIsHeld) {
  Turn(HealthState::kUnhealthy);
  changes_.Send(pod_);
  now_ += 10ms;
  Turn(HealthState::kHealthy);
  changes_.Failed(pod_);
  EXPECT_EQ(Hold(), 0ms);
  EXPECT_THAT(changes_.Send(pod_), SizeIs(1));
}

TEST_F(HeldChangesTest, APodThatShowsAllAlreadyOrIsGoneHasNothing) {
  Turn(HealthState::kUnhealthy);
  changes_.NothingToWrite(pod_);
  EXPECT_THAT(changes_.Send(pod_), IsEmpty());
  Turn(HealthState::kHealthy);
  changes_.Forget(pod_);
  EXPECT_THAT(changes_.Send(pod_), IsEmpty());
  EXPECT_EQ(Hold(), 0ms);
  changes_.Failed(pod_);
}

constexpr auto kHealthy = HealthState::kHealthy;
constexpr auto kUnhealthy = HealthState::kUnhealthy;

class ChangePacerTest : public ::testing::Test {
 protected:
  void Change(HealthState state) { pacer_.Changed(state, now_); }
  // As a publisher does that looks often: sends what is due, and counts it.
  void Pass(Duration time) {
    for (const Time end = now_ + time; now_ < end; now_ += 1ms) {
      if (unsent() && now_ >= pacer_.not_before().value_or(now_)) Send();
    }
  }
  void Send() {
    pacer_.Sent();
    sent_state_ = changes_;
    ++sent_;
  }
  bool unsent() const { return sent_state_ != changes_; }
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
  int changes_ = 0, sent_state_ = 0, sent_ = 0;
};

TEST_F(ChangePacerTest, ASingleChangeIsPublishedAtOnce) {
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
  EXPECT_EQ(pacer_.not_before(), std::nullopt)
      << "a look was asked for at once; it writes the rest";
}

TEST_F(ChangePacerTest, AStormIsPublishedTwiceAndItsEndSoonAfterIt) {
  Storm(150, 26ms);
  EXPECT_EQ(sent_, 1);
  Pass(ChangePacer::kRestMost);
  EXPECT_EQ(sent_, 2);
  EXPECT_FALSE(unsent());
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

TEST_F(ChangePacerTest, AStormWithoutEndIsPublishedNowAndThen) {
  Storm(60'000, 10ms);
  // Ten minutes: what is better is held as long as may be; what is worse then follows it.
  EXPECT_GE(sent_, 100);
  EXPECT_LE(sent_, 260);
  Pass(ChangePacer::kRestMost);
  EXPECT_FALSE(unsent());
}

TEST_F(ChangePacerTest, AStormWithPausesIsOneStorm) {
  Storm(500, 120ms);
  // A minute, of which no pause is long enough.
  EXPECT_LE(sent_, 30);
  Pass(ChangePacer::kRestMost);
  EXPECT_FALSE(unsent());
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

TEST_F(HeldChangesTest, OfTwoHeldDevicesTheOneThatRestsFirstIsWaitedFor) {
  Turn(HealthState::kUnhealthy);
  Turn(HealthState::kUnhealthy, "gpu-1");
  changes_.OnWritten(pod_, changes_.Send(pod_));
  now_ += 10ms;
  Turn(HealthState::kHealthy);
  const Duration alone = Hold();
  now_ += 50ms;
  Turn(HealthState::kHealthy, "gpu-1");
  EXPECT_EQ(Hold(), alone - 50ms);
}

}  // namespace
}  // namespace galen::agent
