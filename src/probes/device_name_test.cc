#include "probes/device_name.h"

#include <gtest/gtest.h>

namespace galen::probes {
namespace {

TEST(DeviceName, IsWhatKubernetesTakesForANameOfTheKernels) {
  EXPECT_EQ(DeviceNameOf("eth0"), "eth0");
  EXPECT_EQ(DeviceNameOf("eth0.100"), "eth0-100");
  EXPECT_EQ(DeviceNameOf("Wan_1"), "wan-1");
  EXPECT_EQ(DeviceNameOf("0000:4b:00.0"), "0000-4b-00-0");
  EXPECT_EQ(DeviceNameOf("_"), "") << "nothing is left of it";
}

}  // namespace
}  // namespace galen::probes
