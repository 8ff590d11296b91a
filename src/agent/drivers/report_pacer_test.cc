#include "agent/drivers/report_pacer.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{1h};

// How many reports of `bytes` pass at `now`.
int Pass(ReportPacer& pacer, std::size_t bytes, Time now) {
  int passed = 0;
  while (pacer.Take(bytes, now)) ++passed;
  return passed;
}

TEST(ReportPacer, ABurstOfSmallReportsPassesAsAWhole) {
  ReportPacer pacer;
  EXPECT_EQ(Pass(pacer, 100, kStart), 10'000);
}

TEST(ReportPacer, AFloodPassesAtASteadyPace) {
  ReportPacer pacer;
  Pass(pacer, 100, kStart);
  EXPECT_EQ(Pass(pacer, 100, kStart + 1s), 50);
  EXPECT_EQ(Pass(pacer, 100, kStart + 2s), 50);
}

TEST(ReportPacer, ALargeReportCostsWhatItWeighs) {
  ReportPacer pacer;
  EXPECT_EQ(Pass(pacer, 1024 * 1024, kStart), 10'000 / 65);
  EXPECT_EQ(Pass(pacer, 48 * 1024, kStart + 1s), (50 + 10'000 % 65) / 4);
}

TEST(ReportPacer, WhoWaitsAsLongAsItSaysPasses) {
  ReportPacer pacer;
  Pass(pacer, 100, kStart);
  const Duration wait = pacer.Wait(100, kStart);
  EXPECT_GT(wait, 0s);
  EXPECT_FALSE(pacer.Take(100, kStart + wait / 2));
  EXPECT_EQ(pacer.Wait(100, kStart + wait), 0s);
  EXPECT_TRUE(pacer.Take(100, kStart + wait));
}

TEST(ReportPacer, AFullBucketLetsAReportOfAnySizePass) {
  ReportPacer pacer;
  EXPECT_TRUE(pacer.Take(std::size_t{1} << 40, kStart));
  EXPECT_FALSE(pacer.Take(1, kStart));
}

TEST(ReportPacer, AQuietTimeFillsTheBucketAndNoMore) {
  ReportPacer pacer;
  Pass(pacer, 100, kStart);
  EXPECT_EQ(Pass(pacer, 100, kStart + 24h), 10'000);
}

}  // namespace
}  // namespace galen::agent
