#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// As kubelet 1.37.1 writes them.
constexpr std::string_view kPage =
    "# HELP kubernetes_feature_enabled [BETA] This metric records the data about …\n"
    "# TYPE kubernetes_feature_enabled gauge\n"
    "kubernetes_feature_enabled{name=\"DynamicResourceAllocation\",stage=\"\"} 1\n"
    "kubernetes_feature_enabled{name=\"ResourceHealthStatus\",stage=\"BETA\"} 0\n"
    "go_goroutines 12\n"
    "plugin_manager_total_plugins{socket_path=\"/k/plugins_registry/a.sock\","
    "state=\"actual_state_of_world\"} 1\n"
    "plugin_manager_total_plugins{socket_path=\"/k/plugins_registry/a.sock\","
    "state=\"desired_state_of_world\"} 1\n"
    "plugin_manager_total_plugins{socket_path=\"/k/plugins_registry/b.sock\","
    "state=\"desired_state_of_world\"} 1\n";

std::vector<Sample> Collect(std::string_view page, std::size_t piece) {
  SampleCollector collector;
  for (std::size_t at = 0; at < page.size(); at += piece) collector.Take(page.substr(at, piece));
  collector.End();
  return collector.samples();
}

TEST(MetricsText, GatesAndPluginsAreRead) {
  const std::vector<Sample> samples = Collect(kPage, kPage.size());
  const std::optional<Gates> gates = GatesOf(samples, "the page");
  ASSERT_TRUE(gates.has_value());
  EXPECT_TRUE(gates->complete);
  EXPECT_EQ(gates->source, "the page");
  EXPECT_THAT(gates->values, UnorderedElementsAre(Pair("DynamicResourceAllocation", true),
                                                  Pair("ResourceHealthStatus", false)));
  const std::map<std::string, PluginState> plugins = PluginsOf(samples);
  ASSERT_THAT(plugins, SizeIs(2));
  EXPECT_TRUE(plugins.at("/k/plugins_registry/a.sock").registered);
  EXPECT_TRUE(plugins.at("/k/plugins_registry/b.sock").wanted);
  EXPECT_FALSE(plugins.at("/k/plugins_registry/b.sock").registered);
}

TEST(MetricsText, PiecesMayEndAnywhere) {
  for (const std::size_t piece : {1u, 7u, 64u}) EXPECT_THAT(Collect(kPage, piece), SizeIs(5));
}

TEST(MetricsText, ALastLineWithoutNewlineCounts) {
  EXPECT_THAT(Collect("kubernetes_feature_enabled{name=\"A\"} 1", 8), SizeIs(1));
}

TEST(MetricsText, ALineThatNeverEndsCostsNoMemoryAndHidesNoOther) {
  std::string page(SampleCollector::kLineBytesMax * 3, 'x');
  page += "\nkubernetes_feature_enabled{name=\"A\"} 1\n";
  EXPECT_THAT(Collect(page, 4096), SizeIs(1));
}

TEST(MetricsText, APageWithoutGatesGivesNone) {
  EXPECT_FALSE(GatesOf(Collect("go_goroutines 12\n", 99), "the page").has_value());
}

TEST(MetricsText, SamplesAreReadByTheFormat) {
  const std::optional<Sample> sample = ParseSample(R"(a{b="x\"y\\z",c=""} 1.5 1700000000)");
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->name, "a");
  EXPECT_EQ(sample->labels.at("b"), R"(x"y\z)");
  EXPECT_EQ(sample->labels.at("c"), "");
  EXPECT_EQ(sample->value, 1.5);
  for (const char* bad :
       {"", "# HELP a b", "a", "a{b} 1", "a{b=\"c} 1", "a{b=\"c\"", "a x", "{} 1"}) {
    EXPECT_FALSE(ParseSample(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace galen::doctor
