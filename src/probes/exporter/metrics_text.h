// Reads Prometheus' text format (version 0.0.4) of somebody else's exporter. Pure and linear; what
// is written wrong is an error, never a guess.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::probes {

// One series and its value, which may be NaN or infinite.
struct MetricSample {
  std::map<std::string, std::string> labels{};
  double value = 0;

  bool operator==(const MetricSample&) const = default;
};

// By the metric's name, in the order of the text.
using MetricSamples = std::map<std::string, std::vector<MetricSample>, std::less<>>;

// Series kept of one text: 256 devices with some of each of 32 metrics, many times over.
inline constexpr std::size_t kMetricSamplesMax = 65536;
inline constexpr std::size_t kMetricLabelsMax = 64;

// The samples of the metrics in `names`; lines of others are passed over. InvalidArgument names the
// first line of these that is no sample; ResourceExhausted for more than kMetricSamplesMax.
StatusOr<MetricSamples> ParseMetrics(std::string_view text,
                                     const std::set<std::string, std::less<>>& names);

}  // namespace galen::probes
