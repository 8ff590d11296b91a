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

MetricSamples ReadPage(std::string_view page) {
  MetricsReader reader = ComponentMetrics();
  reader.Take(page);
  return reader.End().value();
}

TEST(ComponentMetrics, GatesAndPluginsAreRead) {
  const MetricSamples samples = ReadPage(kPage);
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

TEST(ComponentMetrics, APageWithoutGatesGivesNone) {
  EXPECT_FALSE(GatesOf(ReadPage("go_goroutines 12\n"), "the page").has_value());
}

}  // namespace
}  // namespace galen::doctor
