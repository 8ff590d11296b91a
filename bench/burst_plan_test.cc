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

TEST(BurstPlan, EndsWithDevicesInBothStates) {
  int unhealthy = 0;
  for (int device = 0; device < 64; ++device) unhealthy += !ReportAfter(10'000, device, 64).healthy;
  EXPECT_EQ(unhealthy, 16);
}

TEST(BurstPlan, DistinguishesChanges) {
  EXPECT_NE(SentenceOf(ReportAfter(64, 0, 64)), SentenceOf(ReportAfter(129, 0, 64)));
}

}  // namespace
}  // namespace galen::bench
