#include "bench/burst_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace galen::bench {
namespace {

// The plan by its definition, one change after another.
std::vector<BurstReport> Played(std::int64_t made, std::int64_t devices) {
  std::vector<BurstReport> reports(static_cast<std::size_t>(devices));
  for (std::int64_t change = 0; change < made; ++change) {
    BurstReport& report = reports[static_cast<std::size_t>(change % devices)];
    report = {.healthy = !report.healthy, .change = change};
  }
  return reports;
}

TEST(BurstPlan, TurnsOneDeviceAChange) {
  for (const std::int64_t devices : {1, 3, 64}) {
    for (std::int64_t made = 0; made < 300; ++made) {
      const std::vector<BurstReport> reports = Played(made, devices);
      for (std::int64_t device = 0; device < devices; ++device) {
        ASSERT_EQ(ReportAfter(made, device, devices), reports[static_cast<std::size_t>(device)])
            << made << " changes, device " << device << " of " << devices;
      }
    }
  }
}

TEST(BurstPlan, DrawsBurstsAfterWhichEachDeviceSaysWhatItNeverSaidBefore) {
  Random random(1);
  for (int run = 0; run < 100; ++run) {
    for (const std::int64_t made : DrawBursts(random, 64)) {
      for (std::int64_t device = 0; device < 64; ++device) {
        EXPECT_EQ(ReportAfter(made, device, 64),
                  (BurstReport{.healthy = false, .change = made - 64 + device}));
      }
    }
  }
}

TEST(BurstPlan, DrawsOtherBurstsEachTimeSmallOnesAndLargeOnes) {
  Random random(1);
  const std::vector<std::int64_t> first = DrawBursts(random, 64);
  EXPECT_NE(DrawBursts(random, 64), first);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_GE(first.front(), 900);
  EXPECT_LT(first.front(), 5'500);
  EXPECT_GT(first.back(), 29'000);
  EXPECT_LE(first.back(), 160'000);
}

TEST(BurstPlan, DistinguishesChanges) {
  EXPECT_NE(SentenceOf(ReportAfter(64, 0, 64)), SentenceOf(ReportAfter(129, 0, 64)));
}

TEST(BurstPlan, ASentenceHasItsChange) {
  EXPECT_EQ(ChangeIn(SentenceOf({.healthy = false, .change = 4711})), "4711");
  for (const char* other : {"", "change  of the burst", "change of the burst", "XID 79"}) {
    EXPECT_EQ(ChangeIn(other), "") << other;
  }
}

}  // namespace
}  // namespace galen::bench
