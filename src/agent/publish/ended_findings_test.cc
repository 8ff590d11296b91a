#include "agent/publish/ended_findings.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

class EndedFindingsTest : public ::testing::Test {
 protected:
  HealthState After(HealthState state) {
    findings_.Keep(pod_, {{.device = device_}},
                   [&](const DeviceId& id) { return DeviceHealth{.id = id, .state = state}; });
    return findings_.Of(pod_, device_).state;
  }

  const ObjectKey pod_{"default", "a"};
  const DeviceId device_{"gpu.example.com", "node-1", "gpu-0"};
  EndedFindings findings_;
};

TEST_F(EndedFindingsTest, ADeviceStaysAsItWasWhenThePodEnded) {
  EXPECT_EQ(After(HealthState::kHealthy), HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnknown), HealthState::kHealthy) << "Unknown is no fault";
}

TEST_F(EndedFindingsTest, OnlyAWorseFaultIsAdded) {
  After(HealthState::kHealthy);
  EXPECT_EQ(After(HealthState::kUnhealthy), HealthState::kUnhealthy);
  EXPECT_EQ(After(HealthState::kDegraded), HealthState::kUnhealthy);
  EXPECT_EQ(After(HealthState::kHealthy), HealthState::kUnhealthy)
      << "the device was repaired, the Pod was not";
}

TEST_F(EndedFindingsTest, AnotherPodOfTheNameBeginsAnew) {
  After(HealthState::kUnhealthy);
  findings_.Forget(pod_);
  EXPECT_EQ(After(HealthState::kHealthy), HealthState::kHealthy);
}

}  // namespace
}  // namespace galen::agent
