#include "base/metrics.h"

#include <gtest/gtest.h>

#include <limits>

namespace galen {
namespace {

TEST(Metrics, WritesCountersAndGaugesAsPrometheusText) {
  Metrics metrics;
  metrics.DeclareCounter("galen_reports_total", "Reports taken.");
  metrics.DeclareGauge("galen_devices", "Devices known.");
  metrics.Add("galen_reports_total", {{"driver", "gpu.example.com"}, {"result", "ok"}});
  metrics.Add("galen_reports_total", {{"driver", "gpu.example.com"}, {"result", "ok"}}, 2);
  metrics.Set("galen_devices", {}, 8);
  metrics.Set("galen_devices", {}, 7.5);
  EXPECT_EQ(metrics.Text(),
            "# HELP galen_devices Devices known.\n"
            "# TYPE galen_devices gauge\n"
            "galen_devices 7.5\n"
            "# HELP galen_reports_total Reports taken.\n"
            "# TYPE galen_reports_total counter\n"
            "galen_reports_total{driver=\"gpu.example.com\",result=\"ok\"} 3\n");
}

TEST(Metrics, HistogramBucketsAreCumulativeAndBoundsBelongToTheLowerOne) {
  Metrics metrics;
  metrics.DeclareHistogram("galen_publish_seconds", "From sign to Pod.", {0.01, 0.1});
  for (const double seconds : {0.01, 0.05, 0.5}) {
    metrics.Observe("galen_publish_seconds", {{"kind", "pod"}}, seconds);
  }
  EXPECT_EQ(metrics.Text(),
            "# HELP galen_publish_seconds From sign to Pod.\n"
            "# TYPE galen_publish_seconds histogram\n"
            "galen_publish_seconds_bucket{kind=\"pod\",le=\"0.01\"} 1\n"
            "galen_publish_seconds_bucket{kind=\"pod\",le=\"0.1\"} 2\n"
            "galen_publish_seconds_bucket{kind=\"pod\",le=\"+Inf\"} 3\n"
            "galen_publish_seconds_sum{kind=\"pod\"} 0.56\n"
            "galen_publish_seconds_count{kind=\"pod\"} 3\n");
}

TEST(Metrics, OrderOfLabelsMakesNoNewSeries) {
  Metrics metrics;
  metrics.DeclareCounter("c_total", "C.");
  metrics.Add("c_total", {{"a", "1"}, {"b", "2"}});
  metrics.Add("c_total", {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(metrics.Value("c_total", {{"a", "1"}, {"b", "2"}}), 2);
}

TEST(Metrics, LabelsFromOutsideAreEscaped) {
  Metrics metrics;
  metrics.DeclareGauge("g", "A \\ and\na line.");
  metrics.Set("g", {{"x", "a\"b\\c\nd"}}, 1);
  EXPECT_EQ(metrics.Text(),
            "# HELP g A \\\\ and\\na line.\n# TYPE g gauge\ng{x=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(Metrics, LabelsFromOutsideBecomeValidUtf8) {
  Metrics metrics;
  metrics.DeclareGauge("g", "G.");
  metrics.Set("g", {{"x", "a\xff"}}, 1);
  EXPECT_NE(metrics.Text().find("g{x=\"a\xEF\xBF\xBD\"} 1\n"), std::string::npos) << metrics.Text();
}

TEST(Metrics, SeriesPastTheBoundAreCountedTogether) {
  Metrics metrics;
  metrics.DeclareCounter("c_total", "C.");
  for (std::size_t i = 0; i < Metrics::kSeriesPerFamilyMax + 10; ++i) {
    metrics.Add("c_total", {{"device", std::to_string(i)}});
  }
  EXPECT_EQ(metrics.Value("c_total", {{"device", "0"}}), 1);
  EXPECT_EQ(metrics.Value("c_total", {{"device", "other"}}), 10);
  metrics.Add("c_total", {{"device", "0"}});
  EXPECT_EQ(metrics.Value("c_total", {{"device", "0"}}), 2);
}

TEST(Metrics, RemovedSeriesIsGone) {
  Metrics metrics;
  metrics.DeclareGauge("g", "G.");
  metrics.Set("g", {{"device", "a"}}, 1);
  metrics.Remove("g", {{"device", "a"}});
  EXPECT_EQ(metrics.Text(), "# HELP g G.\n# TYPE g gauge\n");
  EXPECT_EQ(metrics.Value("g", {{"device", "a"}}), 0);
  EXPECT_EQ(metrics.Value("never", {}), 0);
}

TEST(Metrics, CollectorsRunBeforeEachText) {
  Metrics metrics;
  metrics.DeclareGauge("g", "G.");
  int depth = 0;
  metrics.OnCollect([&](Metrics& m) { m.Set("g", {}, ++depth); });
  (void)metrics.Text();
  EXPECT_NE(metrics.Text().find("g 2\n"), std::string::npos);
}

TEST(Metrics, NumbersBeyondTheRealOnesHaveTheirOwnNames) {
  Metrics metrics;
  metrics.DeclareGauge("g", "G.");
  metrics.Set("g", {{"x", "1"}}, std::numeric_limits<double>::infinity());
  metrics.Set("g", {{"x", "2"}}, std::numeric_limits<double>::quiet_NaN());
  metrics.Set("g", {{"x", "3"}}, 1e18);
  const std::string text = metrics.Text();
  for (const char* part : {"} +Inf\n", "} NaN\n", "} 1e+18\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(MetricsDeathTest, UseBeforeDeclarationIsOurBug) {
  Metrics metrics;
  EXPECT_DEATH(metrics.Add("nobody_total", {}), "check failed");
  metrics.DeclareGauge("g", "G.");
  EXPECT_DEATH(metrics.DeclareGauge("g", "Again."), "check failed");
}

TEST(MetricsDeathTest, UseAsAnotherKindIsOurBug) {
  Metrics metrics;
  metrics.DeclareGauge("g", "G.");
  metrics.DeclareHistogram("h_seconds", "H.", {1});
  EXPECT_DEATH(metrics.Observe("g", {}, 1), "check failed");
  EXPECT_DEATH(metrics.Add("h_seconds", {}), "check failed");
  EXPECT_DEATH(metrics.Set("h_seconds", {}, 1), "check failed");
}

}  // namespace
}  // namespace galen
