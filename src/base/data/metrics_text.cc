#include "base/data/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"

namespace galen {
namespace {

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

bool TakeByte(std::string_view& rest, char c) {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

void SkipBlanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
}

std::string_view TakeName(std::string_view& rest) {
  const auto end = std::ranges::find_if_not(rest, IsNameByte);
  const std::string_view name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(name.size());
  return name;
}

// A value in quotes, with \\, \" and \n as the format escapes them.
std::optional<std::string> TakeQuoted(std::string_view& rest) {
  if (!TakeByte(rest, '"')) return std::nullopt;
  std::string value;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (rest.empty()) return std::nullopt;
    value += rest.front() == 'n' ? '\n' : rest.front();
    rest.remove_prefix(1);
  }
  return std::nullopt;
}

// "{a="1",b="2"}", or nothing; keeps those that are wanted. False when it is neither, or one of
// these comes twice.
bool TakeLabels(std::string_view& rest, const MetricNames& wanted, MetricSample& sample) {
  if (!TakeByte(rest, '{')) return true;
  for (std::size_t count = 0;; ++count) {
    SkipBlanks(rest);
    if (TakeByte(rest, '}')) return true;
    const std::string_view name = TakeName(rest);
    SkipBlanks(rest);
    if (name.empty() || !TakeByte(rest, '=')) return false;
    SkipBlanks(rest);
    std::optional<std::string> value = TakeQuoted(rest);
    if (!value || count >= kMetricLabelsMax) return false;
    if (wanted.contains(name) && !sample.labels.emplace(name, *std::move(value)).second) {
      return false;
    }
    SkipBlanks(rest);
    if (!TakeByte(rest, ',') && !rest.starts_with('}')) return false;
  }
}

// As Go writes numbers: also "NaN", "+Inf" and "-Inf". A timestamp may follow and is passed over.
std::optional<double> MetricValue(std::string_view rest) {
  SkipBlanks(rest);
  std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Memory that a sample takes, about: itself, and a node of the map for each label.
std::size_t BytesOf(const MetricSample& sample) {
  constexpr std::size_t kNodeBytes = 112;
  std::size_t bytes = sizeof(sample);
  for (const auto& [name, value] : sample.labels) bytes += kNodeBytes + name.size() + value.size();
  return bytes;
}

}  // namespace

void MetricsReader::Take(std::string_view bytes) {
  while (!bytes.empty() && error_.ok()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (end == std::string_view::npos || !rest_.empty()) {
      if (!too_long_) rest_ += piece.substr(0, kMetricLineBytesMax + 1);
      if (rest_.size() > kMetricLineBytesMax && !std::exchange(too_long_, true)) {
        error_ = TakeLine(rest_);
      }
    }
    if (end == std::string_view::npos) return;
    if (!std::exchange(too_long_, false)) error_ = TakeLine(rest_.empty() ? piece : rest_);
    rest_.clear();
    bytes.remove_prefix(end + 1);
    ++line_;
  }
}

StatusOr<MetricSamples> MetricsReader::End() {
  if (error_.ok() && !too_long_) error_ = TakeLine(rest_);
  if (!error_.ok()) return error_;
  return std::move(samples_);
}

Status MetricsReader::TakeLine(std::string_view line) {
  const bool whole = line.size() <= kMetricLineBytesMax;
  line = Trimmed(line);
  std::string_view rest = line;
  const std::string_view name = TakeName(rest);
  if (name.empty() || !names_.contains(name)) return OkStatus();
  if (++count_ > kMetricSamplesMax) {
    return ResourceExhausted("more than {} samples", kMetricSamplesMax);
  }
  MetricSample sample;
  SkipBlanks(rest);
  const bool labelled = whole && TakeLabels(rest, labels_, sample);
  const std::optional<double> value = labelled ? MetricValue(rest) : std::nullopt;
  if (!value) return InvalidArgument("line {} is not a sample: '{}'", line_, Shown(line, 80));
  sample.value = *value;
  kept_bytes_ += BytesOf(sample);
  if (kept_bytes_ > kMetricKeptBytesMax) {
    return ResourceExhausted("the samples take more than {} bytes of memory", kMetricKeptBytesMax);
  }
  std::vector<MetricSample>& series = samples_[std::string(name)];
  if (series.size() >= kMetricSeriesMax) {
    return ResourceExhausted("more than {} series of {}", kMetricSeriesMax, name);
  }
  series.push_back(std::move(sample));
  return OkStatus();
}

StatusOr<MetricSamples> ParseMetrics(std::string_view text, const MetricNames& names,
                                     const MetricNames& labels) {
  MetricsReader reader(names, labels);
  reader.Take(text);
  return reader.End();
}

}  // namespace galen
