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
  changes_.Arrived(pod_, sent);
  EXPECT_THAT(changes_.Send(pod_), IsEmpty());
}

TEST_F(HeldChangesTest, WhatChangesWhileItIsWrittenIsStillToBeShown) {
  Turn(HealthState::kUnhealthy);
  const HeldChanges::Changes sent = changes_.Send(pod_);
  Turn(HealthState::kHealthy);
  changes_.Arrived(pod_, sent);
  EXPECT_THAT(changes_.Send(pod_), SizeIs(1));
}

TEST_F(HeldChangesTest, AStormIsHeldAndAnotherDeviceOfThePodIsNot) {
  Turn(HealthState::kUnhealthy);
  changes_.Arrived(pod_, changes_.Send(pod_));
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
  changes_.Settled(pod_);
  EXPECT_THAT(changes_.Send(pod_), IsEmpty());
  Turn(HealthState::kHealthy);
  changes_.Forget(pod_);
  EXPECT_THAT(changes_.Send(pod_), IsEmpty());
  EXPECT_EQ(Hold(), 0ms);
  changes_.Failed(pod_);
}

}  // namespace
}  // namespace galen::agent
