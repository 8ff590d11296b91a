#include "bench/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::bench {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Percentile, IsASampleByItsRankWhateverTheirOrder) {
  std::vector<Duration> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i * 1ms);
  EXPECT_EQ(Percentile(samples, 50), 50ms);
  EXPECT_EQ(Percentile(samples, 99), 99ms);
  EXPECT_EQ(Percentile(samples, 100), 100ms);
}

TEST(Percentile, OfFewSamplesDoesNotHideTheWorst) {
  EXPECT_EQ(Percentile({1ms, 2ms, 90ms}, 99), 90ms);
  EXPECT_EQ(Percentile({7ms}, 1), 7ms);
}

TEST(Figures, AreReadWithoutALegend) {
  EXPECT_EQ(Milliseconds(420us), "0.42 ms");
  EXPECT_EQ(Milliseconds(7340us), "7.3 ms");
  EXPECT_EQ(Milliseconds(1240ms), "1240 ms");
  EXPECT_EQ(Milliseconds(-3ms), "-3.0 ms");
  EXPECT_EQ(Megabytes(46'200'000), "46.2 MB");
  EXPECT_EQ(Mebibytes(20 * 1024 * 1024), "20.0 MiB");
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(10'000), "10,000");
  EXPECT_EQ(Count(1'234'567), "1,234,567");
}

TEST(Figures, ThatMissAGoalFailTheRun) {
  const Figure met{.what = "a", .measured = "1", .goal = "2"};
  const Figure missed{.what = "b", .measured = "3", .goal = "2", .met = false};
  for (const Deciding deciding : {Deciding::kAll, Deciding::kNoTimes}) {
    EXPECT_TRUE(AllMet({}, deciding));
    EXPECT_TRUE(AllMet({met}, deciding));
    EXPECT_FALSE(AllMet({met, missed, met}, deciding));
  }
}

TEST(Figures, ThatAreTimesFailTheRunUnlessTimesAreIgnored) {
  const Figure slow{.what = "a", .measured = "3 ms", .goal = "2 ms", .met = false, .is_time = true};
  const Figure missed{.what = "b", .measured = "3", .goal = "2", .met = false};
  EXPECT_FALSE(AllMet({slow}, Deciding::kAll));
  EXPECT_TRUE(AllMet({slow}, Deciding::kNoTimes));
  EXPECT_FALSE(AllMet({slow, missed}, Deciding::kNoTimes));
}

TEST(TextTable, ShoutsWhatMissedItsGoalAndClaimsNothingWithoutOne) {
  const std::string text =
      TextTable({{.what = "speed", .measured = "3 ms", .goal = "≤ 2 ms", .met = false},
                 {.what = "merged", .measured = "17"}});
  EXPECT_EQ(text,
            "WHAT    MEASURED  GOAL    MET\n"
            "speed   3 ms      ≤ 2 ms  NO\n"
            "merged  17        –       –\n");
}

TEST(MarkdownPage, HoldsCommandCoresTableAndExplanations) {
  const std::string page = MarkdownPage({{.what = "a|b", .measured = "1", .goal = "2"}},
                                        {.command = "./dev bench latency",
                                         .cores = 2,
                                         .build = "an optimised build",
                                         .explanations = {"**latency**: from sign to Pod."}});
  EXPECT_THAT(page, HasSubstr("`./dev bench latency` on a machine with 2 cores, an optimised"));
  EXPECT_THAT(page, HasSubstr("\n| a\\|b | 1 | 2 | yes |\n"));
  EXPECT_THAT(page, HasSubstr("\n- **latency**: from sign to Pod.\n"));
}

}  // namespace
}  // namespace galen::bench
