#include "model/health.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/fault.h"

namespace galen {
namespace {

constexpr WallTime kSign(std::chrono::seconds(1'795'269'731));  // 2026-11-21T14:02:11Z

DeviceHealth Health(std::string device, HealthState state, double share = 1.0) {
  DeviceHealth health;
  health.id = {"gpu.example.com", "node-7", std::move(device)};
  health.state = state;
  health.share = share;
  return health;
}

TEST(HealthState, ReadsWhatItWritesAndNothingElse) {
  for (const HealthState state : kHealthStates) EXPECT_EQ(ParseHealthState(ToString(state)), state);
  EXPECT_EQ(ToString(HealthState::kDegraded), "Degraded");
  EXPECT_EQ(ParseHealthState("degraded"), std::nullopt);
  EXPECT_EQ(ParseHealthState(""), std::nullopt);
}

TEST(HealthState, OnlyDegradedAndUnhealthyAreFaults) {
  EXPECT_FALSE(IsFault(HealthState::kHealthy));
  EXPECT_FALSE(IsFault(HealthState::kUnknown));
  EXPECT_TRUE(IsFault(HealthState::kDegraded));
  EXPECT_TRUE(IsFault(HealthState::kUnhealthy));
}

TEST(HealthState, NewDeviceIsUnknownAndNotHealthy) {
  EXPECT_EQ(DeviceHealth().state, HealthState::kUnknown);
}

TEST(FaultOwner, ReadsWhatItWritesAndTakesTheRestForNobody) {
  for (const FaultOwner owner : {FaultOwner::kNobody, FaultOwner::kHardware, FaultOwner::kDriver,
                                 FaultOwner::kApplication, FaultOwner::kPlatform}) {
    EXPECT_EQ(ParseFaultOwner(ToString(owner)), owner);
  }
  EXPECT_EQ(ParseFaultOwner("Weather"), FaultOwner::kNobody);
}

TEST(Worse, UnknownIsWorseThanHealthyAndBetterThanAnyFault) {
  EXPECT_EQ(Worse(HealthState::kHealthy, HealthState::kUnknown), HealthState::kUnknown);
  EXPECT_EQ(Worse(HealthState::kDegraded, HealthState::kUnknown), HealthState::kDegraded);
  EXPECT_EQ(Worse(HealthState::kDegraded, HealthState::kUnhealthy), HealthState::kUnhealthy);
  EXPECT_EQ(Worse(HealthState::kHealthy, HealthState::kHealthy), HealthState::kHealthy);
}

TEST(WorseFirst, OrdersByStateThenByWhatIsLeftThenByName) {
  std::vector<DeviceHealth> devices = {
      Health("gpu-0", HealthState::kHealthy),       Health("gpu-1", HealthState::kDegraded, 0.75),
      Health("gpu-5", HealthState::kUnhealthy),     Health("gpu-2", HealthState::kUnhealthy),
      Health("gpu-4", HealthState::kDegraded, 0.5), Health("gpu-3", HealthState::kUnknown),
  };
  std::sort(devices.begin(), devices.end(), WorseFirst);
  std::string order;
  for (const DeviceHealth& device : devices) order += device.id.device.back();
  EXPECT_EQ(order, "254130");
  EXPECT_FALSE(WorseFirst(devices[0], devices[0]));
}

TEST(SameFinding, LooksAtWhatAPersonIsShownAndNotAtTimes) {
  DeviceHealth a = Health("gpu-0", HealthState::kUnhealthy);
  a.cause = {"XidGpuLost",         "XID 79: GPU has fallen off the bus", "79", "", "",
             FaultOwner::kHardware};
  DeviceHealth b = a;
  b.since = kSign;
  b.timeout = std::chrono::seconds(5);
  EXPECT_TRUE(SameFinding(a, b));
  EXPECT_NE(a, b);
  b.cause.value = "48";
  EXPECT_FALSE(SameFinding(a, b));
  b = a;
  b.share = 0.5;
  EXPECT_FALSE(SameFinding(a, b));
  b = a;
  b.state = HealthState::kDegraded;
  EXPECT_FALSE(SameFinding(a, b));
  b = a;
  b.id.device = "gpu-1";
  EXPECT_FALSE(SameFinding(a, b));
}

TEST(Sentence, SaysStateTimeAndCause) {
  DeviceHealth health = Health("gpu-3", HealthState::kUnhealthy);
  health.since = kSign;
  health.cause.code = "XidGpuLost";
  health.cause.message = "XID 79: GPU has fallen off the bus";
  EXPECT_EQ(Sentence(health),
            "Unhealthy since 2026-11-21T14:02:11Z: XID 79: GPU has fallen off the bus");
}

TEST(Sentence, DegradedSaysHowMuchIsLeft) {
  DeviceHealth health = Health("gpu-5", HealthState::kDegraded, 0.5);
  health.since = kSign;
  health.cause.message = "PCIe link x8, expected x16: half the bandwidth";
  EXPECT_EQ(Sentence(health),
            "Degraded 0.50 since 2026-11-21T14:02:11Z: PCIe link x8, expected x16: half the "
            "bandwidth");
}

TEST(Sentence, HealthyNeedsNoExplanation) {
  DeviceHealth health = Health("gpu-0", HealthState::kHealthy);
  health.since = kSign;
  health.cause.message = "all is well";
  EXPECT_EQ(Sentence(health), "Healthy");
}

TEST(Sentence, WhatIsNotKnownIsLeftOut) {
  DeviceHealth health = Health("gpu-0", HealthState::kUnknown);
  EXPECT_EQ(Sentence(health), "Unknown");
  health.cause.code = std::string(cause_code::kNotReported);
  EXPECT_EQ(Sentence(health), "Unknown: NotReported");
}

}  // namespace
}  // namespace galen
