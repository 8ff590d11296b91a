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

// Names of metrics, or of labels.
using MetricNames = std::set<std::string, std::less<>>;

// One series and its value, which may be NaN or infinite. Of its labels those that were asked for.
struct MetricSample {
  std::map<std::string, std::string> labels{};
  double value = 0;

  bool operator==(const MetricSample&) const = default;
};

// By the metric's name, in the order of the text.
using MetricSamples = std::map<std::string, std::vector<MetricSample>, std::less<>>;

// Series kept of one text: 256 devices with some of each of 32 metrics, many times over.
inline constexpr std::size_t kMetricSamplesMax = 65536;
// Series kept of one metric, each held against each device: 256 devices of 16 parts each.
inline constexpr std::size_t kMetricSeriesMax = 4096;
inline constexpr std::size_t kMetricLabelsMax = 64;
// Bytes of memory for what is kept of one text, so that whoever writes it does not take the
// driver's: the manifests give a driver 128 MiB.
inline constexpr std::size_t kMetricKeptBytesMax = std::size_t{8} << 20;

// The samples of the metrics in `names`, each with those of its labels that are in `labels`; lines
// of others are passed over. InvalidArgument names the first line of these that is no sample;
// ResourceExhausted for more than kMetricSamplesMax, kMetricSeriesMax or kMetricKeptBytesMax.
StatusOr<MetricSamples> ParseMetrics(std::string_view text, const MetricNames& names,
                                     const MetricNames& labels);

}  // namespace galen::probes
