#include <gtest/gtest.h>

#include "sdk/health/health_snapshot.h"
#include "sdk/inventory.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;

TEST(HealthRound, KnowsOnlyWhatWasSaid) {
  HealthRound round;
  round.Healthy("a");
  round.Degraded("b", 0.5, {.code = "PcieWidthReduced"});
  EXPECT_EQ(round.Find("a")->state, HealthState::kHealthy);
  EXPECT_EQ(round.Find("b")->share, 0.5);
  EXPECT_EQ(round.Find("c"), nullptr);
}

TEST(HealthRound, TheLastWordOnADeviceCounts) {
  HealthRound round;
  round.Unhealthy("a", {"LinkDown", "link down"});
  round.Unknown("a", {.code = "ProbeBusy"});
  EXPECT_EQ(round.Find("a")->state, HealthState::kUnknown);
  EXPECT_EQ(round.Find("a")->cause.code, "ProbeBusy");
}

TEST(HealthRound, ADeviceThatIsWellMayCarryANote) {
  HealthRound round;
  round.Healthy("a", {.code = "XidPageFault", .owner = HealthCause::Owner::kApplication});
  EXPECT_EQ(round.Find("a")->state, HealthState::kHealthy);
  EXPECT_EQ(round.Find("a")->cause.code, "XidPageFault");
  round.Healthy("a");
  EXPECT_EQ(round.Find("a")->cause.code, "") << "the last report counts";
}

TEST(HealthRound, ATimeoutAloneSaysNothingOfTheState) {
  HealthRound round;
  round.Timeout("a", 10s);
  EXPECT_EQ(round.Find("a"), nullptr);
  EXPECT_EQ(round.TimeoutOf("a"), 10s);
  EXPECT_EQ(round.TimeoutOf("b"), std::nullopt);
}

TEST(HealthRound, IsBounded) {
  HealthRound round;
  for (std::size_t i = 0; i < kDevicesMax + 100; ++i) round.Healthy("d" + std::to_string(i));
  EXPECT_EQ(round.reports().size(), kDevicesMax);
}

}  // namespace
}  // namespace galen::sdk
