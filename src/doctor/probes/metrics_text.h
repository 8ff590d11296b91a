// The few lines of a Kubernetes component's /metrics that are of interest: feature gates and the
// kubelet's plugins (Prometheus' text format 0.0.4). Pure, but for the collector, which keeps what
// it was given.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/observations.h"

namespace galen::doctor {

// One sample. Time stamps and comments are not kept.
struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};
// nullopt for a comment, an empty line and what is no sample.
std::optional<Sample> ParseSample(std::string_view line);

// Takes a page in pieces and keeps the samples of the names below: an API server's page has
// megabytes, of which some dozen lines are wanted.
class SampleCollector {
 public:
  void Take(std::string_view bytes);
  // Takes the last line, too, when it has no newline.
  void End();
  const std::vector<Sample>& samples() const { return samples_; }

  static constexpr std::size_t kLineBytesMax = 64 * 1024;  // longer ones are skipped
  static constexpr std::size_t kSamplesMax = 4096;

 private:
  void TakeLine(std::string_view line);

  std::string rest_;
  bool skipping_ = false;
  std::vector<Sample> samples_;
};

// kubernetes_feature_enabled; nullopt when the page has none, as of a version before 1.26.
std::optional<Gates> GatesOf(const std::vector<Sample>& samples, std::string source);
// plugin_manager_total_plugins, by the registration socket.
std::map<std::string, PluginState> PluginsOf(const std::vector<Sample>& samples);

}  // namespace galen::doctor
