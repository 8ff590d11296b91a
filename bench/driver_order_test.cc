#include "bench/driver_order.h"

#include <gtest/gtest.h>

namespace galen::bench {
namespace {

constexpr HealthState kBad = HealthState::kUnhealthy;

// Two devices, each turned three times: 0, 2, 4 are gpu-0's, of which 2 is Healthy again.
constexpr std::int64_t kChanges = 6, kDevices = 2;

TEST(DriverOrder, TakesWhatTheDriverMadeInItsOrder) {
  DriverOrder order(kChanges, kDevices);
  order.Add("gpu-0", kBad, "0");
  order.Add("gpu-1", kBad, "1");
  order.Add("gpu-0", HealthState::kHealthy, "");
  order.Add("gpu-0", kBad, "4");
  order.Add("gpu-1", kBad, "5");
  EXPECT_EQ(order.numbered(), 4u);
  EXPECT_EQ(order.out_of_order(), 0u);
  EXPECT_EQ(order.first_fault(), "");
  EXPECT_EQ(order.at_the_last(), 2);
}

TEST(DriverOrder, AllowsChangesThatWereMergedOnTheirWay) {
  DriverOrder order(kChanges, kDevices);
  order.Add("gpu-0", kBad, "4");
  EXPECT_EQ(order.out_of_order(), 0u);
  EXPECT_EQ(order.at_the_last(), 1) << "gpu-1 shows nothing yet";
}

TEST(DriverOrder, AnOlderChangeAfterANewerOneIsOutOfOrder) {
  DriverOrder order(kChanges, kDevices);
  order.Add("gpu-0", kBad, "4");
  order.Add("gpu-0", kBad, "0");
  EXPECT_EQ(order.out_of_order(), 1u);
  EXPECT_EQ(order.first_fault(), "gpu-0: change 0 after change 4");
  EXPECT_EQ(order.at_the_last(), 0);
}

TEST(DriverOrder, TheSameChangeTwiceIsOutOfOrder) {
  DriverOrder order(kChanges, kDevices);
  order.Add("gpu-0", kBad, "0");
  order.Add("gpu-0", kBad, "0");
  EXPECT_EQ(order.out_of_order(), 1u);
}

TEST(DriverOrder, WhatTheDriverNeverMadeIsOutOfOrder) {
  for (const char* change : {"1", "2", "6", "-2", "", "four"}) {
    DriverOrder order(kChanges, kDevices);
    order.Add("gpu-0", kBad, change);
    EXPECT_EQ(order.out_of_order(), 1u) << change;
    EXPECT_EQ(order.at_the_last(), 0) << change;
  }
}

TEST(DriverOrder, ADeviceOfNobodyIsOutOfOrder) {
  DriverOrder order(kChanges, kDevices);
  order.Add("gpu-2", kBad, "2");
  EXPECT_EQ(order.first_fault(), "gpu-2: Unhealthy \"2\", which its driver never reported");
}

}  // namespace
}  // namespace galen::bench
