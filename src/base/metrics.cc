#include "base/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace galen {
namespace {

// As the text format wants it: a backslash and a newline everywhere, quotes in label values.
std::string Escaped(std::string_view text, bool quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// `a="1",b="2"` in order of names, so that one series has one text. Valid UTF-8, which the format
// demands: Prometheus would refuse the whole page for one broken byte.
std::string Rendered(Metrics::Labels labels) {
  std::sort(labels.begin(), labels.end());
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name,
                        Escaped(ToValidUtf8(value), true));
  }
  return text;
}

// Whole numbers without an exponent or a fraction: counters are easier to read so.
std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  constexpr double kWholeMax = 1e15;  // past it a double may not distinguish neighbours
  if (value == std::floor(value) && std::abs(value) < kWholeMax)
    return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string Line(std::string_view name, std::string_view labels, double value) {
  if (labels.empty()) return fmt::format("{} {}\n", name, Number(value));
  return fmt::format("{}{{{}}} {}\n", name, labels, Number(value));
}

}  // namespace

void Metrics::DeclareCounter(std::string_view name, std::string_view help) {
  Declare(name, help, Kind::kCounter, {});
}

void Metrics::DeclareGauge(std::string_view name, std::string_view help) {
  Declare(name, help, Kind::kGauge, {});
}

void Metrics::DeclareHistogram(std::string_view name, std::string_view help,
                               std::vector<double> bounds) {
  GALEN_CHECK(std::is_sorted(bounds.begin(), bounds.end()));
  Declare(name, help, Kind::kHistogram, std::move(bounds));
}

void Metrics::Add(std::string_view name, const Labels& labels, double amount) {
  GALEN_CHECK(!IsHistogram(name));
  SeriesOf(name, labels).value += amount;
}

void Metrics::Set(std::string_view name, const Labels& labels, double value) {
  GALEN_CHECK(!IsHistogram(name));
  SeriesOf(name, labels).value = value;
}

void Metrics::Observe(std::string_view name, const Labels& labels, double value) {
  GALEN_CHECK(IsHistogram(name));
  Series& series = SeriesOf(name, labels);
  const std::vector<double>& bounds = families_.find(name)->second.bounds;
  // The first bound that is not below the value: bounds belong to the lower bucket ("le").
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  if (static_cast<std::size_t>(bucket) < bounds.size())
    ++series.buckets[static_cast<std::size_t>(bucket)];
  ++series.count;
  series.value += value;
}

void Metrics::Remove(std::string_view name, const Labels& labels) {
  const auto family = families_.find(name);
  if (family != families_.end()) family->second.series.erase(Rendered(labels));
}

void Metrics::OnCollect(std::function<void(Metrics&)> collect) {
  collectors_.push_back(std::move(collect));
}

double Metrics::Value(std::string_view name, const Labels& labels) const {
  const auto family = families_.find(name);
  if (family == families_.end()) return 0;
  const auto series = family->second.series.find(Rendered(labels));
  return series == family->second.series.end() ? 0 : series->second.value;
}

std::string Metrics::Text() {
  for (const auto& collect : collectors_) collect(*this);
  std::string text;
  for (const auto& [name, family] : families_) text += TextOf(name, family);
  return text;
}

void Metrics::Declare(std::string_view name, std::string_view help, Kind kind,
                      std::vector<double> bounds) {
  Family family;
  family.kind = kind;
  family.help = help;
  family.bounds = std::move(bounds);
  GALEN_CHECK(families_.emplace(name, std::move(family)).second);
}

bool Metrics::IsHistogram(std::string_view name) const {
  const auto found = families_.find(name);
  GALEN_CHECK(found != families_.end());
  return found->second.kind == Kind::kHistogram;
}

Metrics::Series& Metrics::SeriesOf(std::string_view name, const Labels& labels) {
  const auto found = families_.find(name);
  GALEN_CHECK(found != families_.end());
  Family& family = found->second;
  std::string key = Rendered(labels);
  // Only a new series is sent to "other": those that are there go on by their own names.
  if (family.series.size() >= kSeriesPerFamilyMax && family.series.count(key) == 0) {
    Labels others = labels;
    for (auto& label : others) label.second = "other";
    key = Rendered(std::move(others));
  }
  Series& series = family.series[key];
  // Does nothing but for a new series.
  series.buckets.resize(family.bounds.size());
  return series;
}

std::string Metrics::TextOf(const std::string& name, const Family& family) {
  constexpr std::string_view kTypes[] = {"counter", "gauge", "histogram"};
  std::string text = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, Escaped(family.help, false),
                                 name, kTypes[static_cast<std::size_t>(family.kind)]);
  for (const auto& [labels, series] : family.series) {
    if (family.kind != Kind::kHistogram) {
      text += Line(name, labels, series.value);
      continue;
    }
    const std::string comma = labels.empty() ? "" : ",";
    // Cumulative, as the format defines _bucket.
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < family.bounds.size(); ++i) {
      below += series.buckets[i];
      text += Line(name + "_bucket",
                   fmt::format("{}{}le=\"{}\"", labels, comma, Number(family.bounds[i])),
                   static_cast<double>(below));
    }
    const auto count = static_cast<double>(series.count);
    text += Line(name + "_bucket", labels + comma + "le=\"+Inf\"", count);
    text += Line(name + "_sum", labels, series.value);
    text += Line(name + "_count", labels, count);
  }
  return text;
}

}  // namespace galen
