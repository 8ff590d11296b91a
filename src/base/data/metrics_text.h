// Reads Prometheus' text format (version 0.0.4) of somebody else's page of metrics. Pure and
// linear; what is written wrong is an error, never a guess.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace galen {

// Names of metrics, or of labels.
using MetricNames = std::set<std::string, std::less<>>;

// One series, with those of its labels that were asked for, and its value, which may be NaN or
// infinite.
struct MetricSample {
  std::map<std::string, std::string> labels{};
  double value = 0;

  bool operator==(const MetricSample&) const = default;
};

// By the metric's name, in the order of the text.
using MetricSamples = std::map<std::string, std::vector<MetricSample>, std::less<>>;

// Series kept of one text: ample for 256 devices with 32 metrics each, several series a metric.
inline constexpr std::size_t kMetricSamplesMax = 65536;
// Series kept of one metric (256 devices with 16 parts each): each is compared with each device.
inline constexpr std::size_t kMetricSeriesMax = 4096;
inline constexpr std::size_t kMetricLabelsMax = 64;
// Far above any line that exporters write.
inline constexpr std::size_t kMetricLineBytesMax = std::size_t{64} << 10;
// Bytes of memory for what is kept of one text, so that whoever writes it does not take the
// reader's: the manifests give a driver 128 MiB.
inline constexpr std::size_t kMetricKeptBytesMax = std::size_t{8} << 20;

// Takes a text in pieces, which may end anywhere: an API server's page has megabytes, of which some
// dozen lines are wanted. Lines of metrics that are not in `names` are passed over unread.
class MetricsReader {
 public:
  // Keeps the metrics in `names`, and of their labels those in `labels`.
  MetricsReader(MetricNames names, MetricNames labels)
      : names_(std::move(names)), labels_(std::move(labels)) {}

  void Take(std::string_view bytes);
  // The samples, once all was taken; the last line needs no newline. InvalidArgument names the
  // first line of these metrics that is not a sample, or longer than kMetricLineBytesMax;
  // ResourceExhausted for more than kMetricSamplesMax, kMetricSeriesMax or kMetricKeptBytesMax.
  StatusOr<MetricSamples> End();

 private:
  // A whole line without its newline, or the begin of one that is too long.
  Status TakeLine(std::string_view line);

  const MetricNames names_;
  const MetricNames labels_;
  std::string rest_;       // the begin of a line whose end has not come
  bool too_long_ = false;  // the rest of a line that is too long is skipped
  std::size_t line_ = 1;
  std::size_t count_ = 0, kept_bytes_ = 0;
  Status error_;
  MetricSamples samples_;
};

// Reads a text that is given whole.
StatusOr<MetricSamples> ParseMetrics(std::string_view text, const MetricNames& names,
                                     const MetricNames& labels);

}  // namespace galen
