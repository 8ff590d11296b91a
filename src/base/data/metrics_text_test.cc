#include "base/data/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace galen {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(MetricsText, GivesTheSamplesOfTheMetricsThatAreAskedFor) {
  const MetricSamples samples = *ParseMetrics(
      "# HELP a text\n# TYPE a gauge\n"
      "a{gpu=\"0\",UUID=\"GPU-1\"} 79\n"
      "a 1.5e3 1712000000000\r\n"
      "b{broken 1\n"
      "\n"
      "a{ x = \"q\\\"\\\\\\n\" , } -Inf\n",
      {"a"}, {"gpu", "UUID", "x"});
  ASSERT_THAT(samples, SizeIs(1));
  const std::vector<MetricSample>& a = samples.at("a");
  ASSERT_THAT(a, SizeIs(3));
  EXPECT_EQ(a[0], (MetricSample{{{"gpu", "0"}, {"UUID", "GPU-1"}}, 79}));
  EXPECT_EQ(a[1], (MetricSample{{}, 1500}));
  EXPECT_EQ(a[2].labels.at("x"), "q\"\\\n");
  EXPECT_TRUE(std::isinf(a[2].value));
}

TEST(MetricsText, ReadsNotANumberAsSuch) {
  EXPECT_TRUE(std::isnan(ParseMetrics("a NaN\n", {"a"}, {"x"})->at("a")[0].value));
  EXPECT_EQ(ParseMetrics("a +7\n", {"a"}, {"x"})->at("a")[0].value, 7);
}

TEST(MetricsText, ABrokenLineOfSuchAMetricIsAnError) {
  for (const char* line : {"a", "a x", "a{x=1} 1", "a{x=\"1} 1", "a{x=\"1\"y=\"2\"} 1",
                           "a{x=\"1\",x=\"2\"} 1", "a{=\"1\"} 1", "a{x=\"1\"", "a{x=\"1\"}"}) {
    const Status status = ParseMetrics(std::string("b 1\n") + line + "\n", {"a"}, {"x"}).status();
    EXPECT_THAT(status.message(), HasSubstr("line 2 is not a sample")) << line;
  }
}

TEST(MetricsText, KeepsOfTheLabelsThoseThatAreAskedFor) {
  EXPECT_EQ(ParseMetrics("a{x=\"1\",y=\"2\"} 7\n", {"a"}, {"x"})->at("a")[0],
            (MetricSample{{{"x", "1"}}, 7}));
}

TEST(MetricsText, SeriesOfAMetricAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < kMetricSeriesMax; ++i) text += "a 1\n";
  EXPECT_TRUE(ParseMetrics(text, {"a"}, {}).ok());
  EXPECT_THAT(ParseMetrics(text + "a 1\n", {"a"}, {}).status().message(),
              HasSubstr("more than 4096 series of a"));
}

TEST(MetricsText, SamplesOfAllMetricsAreBounded) {
  MetricNames names;
  std::string text;
  for (std::size_t i = 0; i <= kMetricSamplesMax; ++i) {
    const std::string name = "a" + std::to_string(i / kMetricSeriesMax);
    text += name + " 1\n";
    names.insert(name);
  }
  EXPECT_THAT(ParseMetrics(text, names, {}).status().message(),
              HasSubstr("more than 65536 samples"));
}

TEST(MetricsText, MemoryForWhatIsKeptIsBounded) {
  const std::string line = "a{x=\"" + std::string(kMetricLineBytesMax / 2, 'x') + "\"} 1\n";
  std::string text;
  while (text.size() <= kMetricKeptBytesMax) text += line;
  EXPECT_EQ(ParseMetrics(text, {"a"}, {"x"}).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(ParseMetrics(text, {"a"}, {"y"}).ok());
}

TEST(MetricsText, ALineThatNeverEndsIsAnErrorWhereItIsWantedAndElseHidesNoOther) {
  const std::string endless(3 * kMetricLineBytesMax, ' ');
  for (const char* end : {"\n", "\na 1\n", ""}) {
    EXPECT_THAT(ParseMetrics("b 1\na 1" + endless + "x" + end, {"a"}, {}).status().message(),
                HasSubstr("line 2 is not a sample"));
  }
  EXPECT_THAT(ParseMetrics("b" + endless + "x\na 1\n", {"a"}, {})->at("a"), SizeIs(1));
}

TEST(MetricsText, PiecesMayEndAnywhere) {
  const std::string text =
      "b " + std::string(kMetricLineBytesMax, '1') + "\na{x=\"1\"} 1\n\na{x=\"2\"} 2\na 3";
  const MetricSamples whole = *ParseMetrics(text, {"a"}, {"x"});
  EXPECT_THAT(whole.at("a"), SizeIs(3));
  for (const std::size_t piece : {1u, 7u, 64u, 4096u}) {
    MetricsReader reader({"a"}, {"x"});
    for (std::size_t at = 0; at < text.size(); at += piece) reader.Take(text.substr(at, piece));
    const StatusOr<MetricSamples> samples = reader.End();
    ASSERT_TRUE(samples.ok()) << piece << ": " << samples.status().message();
    EXPECT_EQ(*samples, whole) << piece;
  }
}

}  // namespace
}  // namespace galen
