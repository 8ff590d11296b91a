#include "base/time.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kMoment(1'795'269'731s + 304'050'607ns);  // 2026-11-21T14:02:11.304050607Z

TEST(Rfc3339, WritesAsManyDigitsAsAskedFor) {
  EXPECT_EQ(FormatRfc3339(kMoment), "2026-11-21T14:02:11Z");
  EXPECT_EQ(FormatRfc3339(kMoment, 3), "2026-11-21T14:02:11.304Z");
  EXPECT_EQ(FormatRfc3339(kMoment, 6), "2026-11-21T14:02:11.304050Z");
  EXPECT_EQ(FormatRfc3339(kMoment, 9), "2026-11-21T14:02:11.304050607Z");
  EXPECT_EQ(FormatRfc3339(WallTime(-1ns), 9), "1969-12-31T23:59:59.999999999Z");
}

TEST(Rfc3339, WritesTheFirstAndTheLastMomentThereIs) {
  EXPECT_EQ(FormatRfc3339(WallTime::min(), 9), "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(FormatRfc3339(WallTime::max(), 9), "2262-04-11T23:47:16.854775807Z");
}

TEST(Rfc3339, ReadsWhatItWrites) {
  for (const WallTime time : {kMoment, WallTime{}, WallTime(-1ns), WallTime(951'782'400s)}) {
    EXPECT_EQ(*ParseRfc3339(FormatRfc3339(time, 9)), time);
  }
}

TEST(Rfc3339, ReadsOffsetsFractionsAndLowerCase) {
  EXPECT_EQ(*ParseRfc3339("2026-11-21T15:32:11+01:30"), WallTime(1'795'269'731s));
  EXPECT_EQ(*ParseRfc3339("2026-11-21T13:02:11-01:00"), WallTime(1'795'269'731s));
  EXPECT_EQ(*ParseRfc3339("2026-11-21t14:02:11.3z"), WallTime(1'795'269'731s + 300ms));
  EXPECT_EQ(*ParseRfc3339("2026-11-21T14:02:11.3040506079Z"), kMoment);
  EXPECT_EQ(*ParseRfc3339("2024-02-29T00:00:00Z"), WallTime(1'709'164'800s));
  EXPECT_EQ(*ParseRfc3339("2016-12-31T23:59:60Z"), WallTime(1'483'228'800s));
}

TEST(Rfc3339, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026-11-21", "2026-11-21T14:02:11", "2026-13-21T14:02:11Z", "2025-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T14:60:11Z", "2026-11-21T14:02:61Z",
        "2026-11-21T14:02:11.Z", "2026-11-21T14:02:11Zx", "26-11-21T14:02:11Z",
        "2026-11-21T14:02:11+0100", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"}) {
    EXPECT_EQ(ParseRfc3339(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(Rfc3339, QuotesOnlyTheBeginningOfALongText) {
  const std::string digits(100'000, '1');
  for (const std::string& text : {"0001-01-01T00:00:00." + digits + "Z", "x" + digits}) {
    EXPECT_LT(ParseRfc3339(text).status().message().size(), 200u);
  }
}

TEST(FormatAge, WritesAsKubectlDoes) {
  const std::pair<Duration, const char*> cases[] = {
      {-5s, "0s"},           {0s, "0s"},          {900ms, "0s"},         {119s, "119s"},
      {2min, "2m"},          {2min + 5s, "2m5s"}, {9min + 59s, "9m59s"}, {10min + 30s, "10m"},
      {179min, "179m"},      {3h, "3h"},          {3h + 5min, "3h5m"},   {8h + 5min, "8h"},
      {47h, "47h"},          {48h, "2d"},         {49h, "2d1h"},         {191h, "7d23h"},
      {192h, "8d"},          {729 * 24h, "729d"}, {730 * 24h, "2y"},     {731 * 24h, "2y1d"},
      {9 * 365 * 24h, "9y"},
  };
  for (const auto& [age, text] : cases) EXPECT_EQ(FormatAge(age), text);
  EXPECT_EQ(FormatAge(Duration::max()), "292y");
}

TEST(ParseDuration, ReadsNumbersWithUnits) {
  EXPECT_EQ(*ParseDuration("250ms"), 250ms);
  EXPECT_EQ(*ParseDuration("1h30m"), 90min);
  EXPECT_EQ(*ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(*ParseDuration("2d"), 48h);
  EXPECT_EQ(*ParseDuration("7us"), 7us);
  EXPECT_EQ(*ParseDuration("7µs"), 7us);
  EXPECT_EQ(*ParseDuration("0"), 0s);
  EXPECT_EQ(*ParseDuration("0s"), 0s);
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "s", "5", "-1s", "1 s", "1x", "soon", ".s", "1s2", "1e3s",
                           "999999999h", "99999999999999999999s"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace galen
