#include <utility>

#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

constexpr std::string_view kFeature = "kubernetes_feature_enabled";
constexpr std::string_view kPlugins = "plugin_manager_total_plugins";

// The value of a label; nullopt in a sample without it.
std::optional<std::string> LabelOf(const MetricSample& sample, const std::string& name) {
  const auto it = sample.labels.find(name);
  return it == sample.labels.end() ? std::nullopt : std::optional<std::string>(it->second);
}

// Empty when the page has none.
std::vector<MetricSample> SeriesOf(const MetricSamples& samples, std::string_view metric) {
  const auto it = samples.find(metric);
  return it == samples.end() ? std::vector<MetricSample>() : it->second;
}

}  // namespace

MetricsReader ComponentMetrics() {
  return {{std::string(kFeature), std::string(kPlugins)}, {"name", "socket_path", "state"}};
}

std::optional<Gates> GatesOf(const MetricSamples& samples, std::string source) {
  Gates gates{.values = {}, .source = std::move(source), .complete = true};
  for (const MetricSample& sample : SeriesOf(samples, kFeature)) {
    if (const auto name = LabelOf(sample, "name")) gates.values[*name] = sample.value != 0;
  }
  if (gates.values.empty()) return std::nullopt;
  return gates;
}

std::map<std::string, PluginState> PluginsOf(const MetricSamples& samples) {
  std::map<std::string, PluginState> plugins;
  for (const MetricSample& sample : SeriesOf(samples, kPlugins)) {
    const auto path = LabelOf(sample, "socket_path");
    const auto state = LabelOf(sample, "state");
    if (!path || !state) continue;
    PluginState& plugin = plugins[*path];
    if (state == "desired_state_of_world") plugin.wanted = sample.value > 0;
    if (state == "actual_state_of_world") plugin.registered = sample.value > 0;
  }
  return plugins;
}

}  // namespace galen::doctor
