// What Pods that have ended show of their devices.
#include <gtest/gtest.h>

#include "agent/publish/pod_publisher.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

class EndedFindingsTest : public ::testing::Test {
 protected:
  // What the Pod shows after a look that finds the device so, for so long before or after the end.
  HealthState After(HealthState state, Duration since = -1min) {
    findings_.Keep(
        pod_, kEnd, {now_, set_back_}, {{.device = device_}},
        [&](const DeviceId& id) {
          return DeviceHealth{.id = id, .state = state, .since = kEnd + since};
        },
        [&](const DeviceId& id, WallTime) { return DeviceHealth{.id = id, .state = at_end_}; },
        [&](const DeviceId&) { return is_only_its_; });
    return findings_.Of(pod_, device_).state;
  }

  static constexpr WallTime kEnd{std::chrono::seconds(1'795'269'734)};
  WallTime now_ = kEnd + 10min;
  Duration set_back_{};
  HealthState at_end_ = HealthState::kUnknown;
  bool is_only_its_ = false;

  const ObjectKey pod_{"default", "a"};
  const DeviceId device_{"gpu.example.com", "node-1", "gpu-0"};
  EndedFindings findings_;
};

TEST_F(EndedFindingsTest, ADeviceStaysAsItWasWhenThePodEnded) {
  EXPECT_EQ(After(HealthState::kHealthy), HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnknown), HealthState::kHealthy) << "Unknown is no fault";
}

TEST_F(EndedFindingsTest, NothingIsAddedWhileTheClockIsSetBackBehindTheEnd) {
  After(HealthState::kHealthy);
  now_ = kEnd - 1s;
  EXPECT_EQ(After(HealthState::kUnhealthy), HealthState::kHealthy);
  now_ = kEnd;
  EXPECT_EQ(After(HealthState::kUnhealthy), HealthState::kUnhealthy);
}

// Its time looks like one before the end, also when the clock has passed the end once more.
TEST_F(EndedFindingsTest, WhatIsDatedAfterAStepBackHappenedThatMuchLater) {
  After(HealthState::kHealthy);
  set_back_ = 15min;
  EXPECT_EQ(After(HealthState::kUnhealthy, -1min), HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy, -16min), HealthState::kUnhealthy)
      << "even so it was before the end";
}

TEST_F(EndedFindingsTest, WhatIsDatedByAClockThatWasBehindTheEndIsNotAddedLater) {
  now_ = kEnd - 5min;
  After(HealthState::kHealthy, -1h);
  now_ = kEnd + 1min;
  EXPECT_EQ(After(HealthState::kUnhealthy, -4min), HealthState::kHealthy);
}

TEST_F(EndedFindingsTest, OnlyAWorseFaultIsAdded) {
  After(HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy), HealthState::kUnhealthy);
  EXPECT_EQ(After(HealthState::kDegraded), HealthState::kUnhealthy);
  EXPECT_EQ(After(HealthState::kHealthy), HealthState::kUnhealthy)
      << "the device was repaired, the Pod was not";
}

TEST_F(EndedFindingsTest, AFaultAfterTheEndIsAnotherPods) {
  After(HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy, 65s), HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy, 900ms), HealthState::kUnhealthy)
      << "the API's ends are whole seconds";
}

// Its driver gives no time of the sign, and saw it a moment later than the process died.
TEST_F(EndedFindingsTest, AFaultSeenSoonAfterTheEndIsThePodsWhileNobodyElseHasTheDevice) {
  After(HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy, 5s), HealthState::kHealthy) << "another holds it";
  is_only_its_ = true;
  EXPECT_EQ(After(HealthState::kUnhealthy, kSeenWithin), HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy, 5s), HealthState::kUnhealthy);
}

// The end is seen after the repair, as by an agent that was cut off.
TEST_F(EndedFindingsTest, ARepairSoonAfterTheEndIsNotThePodsAlthoughNobodyElseHasTheDevice) {
  is_only_its_ = true;
  at_end_ = HealthState::kUnhealthy;
  EXPECT_EQ(After(HealthState::kHealthy, 5s), HealthState::kUnhealthy);
}

// As after a restart of the agent: the device was repaired, or broke, while nobody of ours ran.
TEST_F(EndedFindingsTest, ADeviceThatChangedSinceTheEndIsShownAsItWasThen) {
  at_end_ = HealthState::kUnhealthy;
  EXPECT_EQ(After(HealthState::kHealthy, 10min), HealthState::kUnhealthy);
  EXPECT_EQ(After(HealthState::kHealthy, 20min), HealthState::kUnhealthy);
}

TEST_F(EndedFindingsTest, AnotherPodOfTheNameBeginsAnew) {
  After(HealthState::kUnhealthy);
  findings_.Forget(pod_);
  EXPECT_EQ(After(HealthState::kHealthy), HealthState::kHealthy);
}

}  // namespace
}  // namespace galen::agent
