#include <charconv>
#include <utility>

#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

constexpr std::string_view kFeature = "kubernetes_feature_enabled";
constexpr std::string_view kPlugins = "plugin_manager_total_plugins";

// `text` up to the closing quote, with its escapes undone; nullopt when there is none. `text` is
// moved past it.
std::optional<std::string> TakeQuoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      value += text[i] == 'n' ? '\n' : text[i];
    } else {
      value += text[i];
    }
  }
  return std::nullopt;
}

// The labels after "{"; `text` is moved past "}". False when they make no sense.
bool TakeLabels(std::string_view& text, std::map<std::string, std::string>& labels) {
  while (!text.starts_with('}')) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return false;
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::optional<std::string> value = TakeQuoted(text);
    if (!value) return false;
    labels[std::move(name)] = std::move(*value);
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<Sample> ParseSample(std::string_view line) {
  const std::size_t name_end = line.find_first_of("{ ");
  if (line.starts_with('#') || name_end == std::string_view::npos || name_end == 0) {
    return std::nullopt;
  }
  Sample sample{.name = std::string(line.substr(0, name_end))};
  line.remove_prefix(name_end);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    if (!TakeLabels(line, sample.labels)) return std::nullopt;
  }
  if (!line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(line.find_first_not_of(' ') == std::string_view::npos
                         ? line.size()
                         : line.find_first_not_of(' '));
  const auto read = std::from_chars(line.data(), line.data() + line.size(), sample.value);
  if (read.ec != std::errc()) return std::nullopt;
  return sample;
}

void SampleCollector::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_) rest_ += piece;
    if (rest_.size() > kLineBytesMax) {
      skipping_ = true;
      rest_.clear();
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!std::exchange(skipping_, false)) TakeLine(rest_);
    rest_.clear();
  }
}

void SampleCollector::End() {
  if (!skipping_) TakeLine(rest_);
  rest_.clear();
}

void SampleCollector::TakeLine(std::string_view line) {
  if (!line.starts_with(kFeature) && !line.starts_with(kPlugins)) return;
  if (samples_.size() >= kSamplesMax) return;
  if (std::optional<Sample> sample = ParseSample(line)) samples_.push_back(std::move(*sample));
}

std::optional<Gates> GatesOf(const std::vector<Sample>& samples, std::string source) {
  Gates gates{.values = {}, .source = std::move(source), .complete = true};
  for (const Sample& sample : samples) {
    const auto name = sample.labels.find("name");
    if (sample.name != kFeature || name == sample.labels.end()) continue;
    gates.values[name->second] = sample.value != 0;
  }
  if (gates.values.empty()) return std::nullopt;
  return gates;
}

std::map<std::string, PluginState> PluginsOf(const std::vector<Sample>& samples) {
  std::map<std::string, PluginState> plugins;
  for (const Sample& sample : samples) {
    const auto path = sample.labels.find("socket_path");
    const auto state = sample.labels.find("state");
    if (sample.name != kPlugins || path == sample.labels.end() || state == sample.labels.end()) {
      continue;
    }
    PluginState& plugin = plugins[path->second];
    if (state->second == "desired_state_of_world") plugin.wanted = sample.value > 0;
    if (state->second == "actual_state_of_world") plugin.registered = sample.value > 0;
  }
  return plugins;
}

}  // namespace galen::doctor
