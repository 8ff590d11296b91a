#include "cli/output/tone.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Tone, WritesTheShareOfADegradedDeviceOnly) {
  DeviceHealth health;
  health.state = HealthState::kDegraded;
  health.share = 0.5;
  EXPECT_EQ(StateText(health), "Degraded 0.50");
  health.share = 1;
  EXPECT_EQ(StateText(health), "Degraded") << "nobody knows how much is left";
  health.state = HealthState::kUnhealthy;
  EXPECT_EQ(StateText(health), "Unhealthy");
}

TEST(Tone, DoesNotColourUnknownAsBad) {
  EXPECT_EQ(ToneOf(HealthState::kUnknown), Tone::kFaint);
  EXPECT_EQ(ToneOf(HealthState::kUnhealthy), Tone::kBad);
}

TEST(Tone, LeavesAnUnknownTimeEmpty) {
  EXPECT_EQ(AgeText(WallTime{}, WallTime{} + std::chrono::hours(1)), "");
  EXPECT_EQ(AgeText(WallTime{} + std::chrono::seconds(1), WallTime{} + std::chrono::seconds(39)),
            "38s");
  EXPECT_EQ(AgeText(WallTime{} + std::chrono::milliseconds(1500), WallTime{}),
            "1970-01-01T00:00:01.500Z");
}

}  // namespace
}  // namespace galen::cli
