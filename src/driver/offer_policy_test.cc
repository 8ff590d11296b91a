#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/device_driver.h"

namespace galen::device_driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

DeviceHealth HealthOf(HealthState state, double share = 1.0,
                      std::string code = "PcieWidthReduced") {
  DeviceHealth health;
  health.state = state;
  health.share = share;
  health.cause.code = std::move(code);
  return health;
}

Device Offered(const OfferPolicy& policy, const DeviceHealth& health) {
  return OfferedWith(policy, {{.name = "gpu-0"}}, {{"gpu-0", health}}).at(0);
}

std::int64_t Lost(const DeviceHealth& health) {
  const Device device = Offered({.attributes = true}, health);
  return std::get<std::int64_t>(device.attributes.at(std::string(kDegradedAttribute)));
}

OfferPolicy Tainting() {
  return {.driver = "gpu.example.com",
          .taint_unhealthy = Taint::Effect::kNoExecute,
          .taint_degraded = Taint::Effect::kNoSchedule};
}

TEST(OfferedWith, ChangesNothingUnlessAskedFor) {
  EXPECT_EQ(Offered({}, HealthOf(HealthState::kUnhealthy)), Device{.name = "gpu-0"});
  EXPECT_FALSE(OfferPolicy{}.any());
}

TEST(OfferedWith, AttributesSayTheStateAndWhatIsLost) {
  const Device device = Offered({.attributes = true}, HealthOf(HealthState::kDegraded, 0.25));
  EXPECT_EQ(std::get<std::string>(device.attributes.at("galen.dev/health")), "Degraded");
  EXPECT_EQ(std::get<std::int64_t>(device.attributes.at("galen.dev/degraded")), 75);
  EXPECT_THAT(device.taints, IsEmpty());
}

TEST(OfferedWith, WhatIsLostIsAlwaysANumber) {
  EXPECT_EQ(Lost(HealthOf(HealthState::kHealthy)), 0);
  EXPECT_EQ(Lost(HealthOf(HealthState::kUnknown)), 0) << "Unknown is never taken for bad";
  EXPECT_EQ(Lost(HealthOf(HealthState::kUnhealthy)), 100);
  EXPECT_EQ(Lost(HealthOf(HealthState::kDegraded, 0.999)), 1) << "Degraded is never 0";
  EXPECT_EQ(Lost(HealthOf(HealthState::kDegraded, 0.001)), 99) << "nor 100";
}

TEST(OfferedWith, ADeviceThatNobodyJudgedIsUnknown) {
  const Device device = OfferedWith({.attributes = true}, {{.name = "gpu-0"}}, {}).at(0);
  EXPECT_EQ(std::get<std::string>(device.attributes.at("galen.dev/health")), "Unknown");
}

TEST(OfferedWith, TaintsSayStateAndCode) {
  EXPECT_THAT(Offered(Tainting(), HealthOf(HealthState::kUnhealthy, 0, "XidGpuLost")).taints,
              ElementsAre(Taint{.key = "gpu.example.com/unhealthy",
                                .value = "XidGpuLost",
                                .effect = Taint::Effect::kNoExecute}));
  EXPECT_THAT(Offered(Tainting(), HealthOf(HealthState::kDegraded, 0.5)).taints,
              ElementsAre(Taint{.key = "gpu.example.com/degraded",
                                .value = "PcieWidthReduced",
                                .effect = Taint::Effect::kNoSchedule}));
  EXPECT_THAT(Offered(Tainting(), HealthOf(HealthState::kUnknown)).taints, IsEmpty());
  EXPECT_THAT(Offered(Tainting(), HealthOf(HealthState::kHealthy)).taints, IsEmpty());
}

TEST(OfferedWith, OnlyUnhealthyDevicesAreWithdrawn) {
  const OfferPolicy policy{.unhealthy = Device::Offered::kNever};
  EXPECT_EQ(Offered(policy, HealthOf(HealthState::kUnhealthy)).offered, Device::Offered::kNever);
  EXPECT_EQ(Offered(policy, HealthOf(HealthState::kDegraded, 0.5)).offered,
            Device::Offered::kAlways);
  EXPECT_EQ(Offered(policy, HealthOf(HealthState::kUnknown)).offered, Device::Offered::kAlways);
}

TEST(OfferPolicyOf, TakesWhatTheCommandLineSays) {
  DriverConfig config;
  EXPECT_FALSE(OfferPolicyOf(config).any());
  config.driver.name = "gpu.example.com";
  config.taint_unhealthy = "NoExecute";
  config.taint_degraded = "NoSchedule";
  config.withdraw_unhealthy = "without-taints";
  config.health_attributes = true;
  const OfferPolicy policy = OfferPolicyOf(config);
  EXPECT_EQ(policy.driver, "gpu.example.com");
  EXPECT_EQ(policy.taint_unhealthy, Taint::Effect::kNoExecute);
  EXPECT_EQ(policy.taint_degraded, Taint::Effect::kNoSchedule);
  EXPECT_EQ(policy.unhealthy, Device::Offered::kWhereTaintsCount);
  EXPECT_TRUE(policy.attributes);
  config.withdraw_unhealthy = "always";
  EXPECT_EQ(OfferPolicyOf(config).unhealthy, Device::Offered::kNever);
}

}  // namespace
}  // namespace galen::device_driver
