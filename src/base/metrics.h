// Counters, gauges and histograms, written as Prometheus text (format 0.0.4).
// A registry is handed to whoever counts; it belongs to one loop. Series are bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galen {

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  // A family past this many series counts the rest in one series whose labels are all "other".
  static constexpr std::size_t kSeriesPerFamilyMax = 4096;

  // Declares a family. REQUIRES: called once a name, before its first use. Counters end in _total.
  void DeclareCounter(std::string_view name, std::string_view help);
  void DeclareGauge(std::string_view name, std::string_view help);
  // `bounds` are the buckets' upper ends, rising, in the unit of the name (seconds).
  void DeclareHistogram(std::string_view name, std::string_view help, std::vector<double> bounds);

  void Add(std::string_view name, const Labels& labels, double amount = 1);
  void Set(std::string_view name, const Labels& labels, double value);
  void Observe(std::string_view name, const Labels& labels, double value);
  // Forgets one series, e.g. of a device that is gone.
  void Remove(std::string_view name, const Labels& labels);
  // Runs before each Text(), for values that are read rather than counted.
  void OnCollect(std::function<void(Metrics&)> collect);

  // The present value of a counter or gauge; 0 when there is no such series.
  double Value(std::string_view name, const Labels& labels = {}) const;

  std::string Text();

 private:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Series {
    double value = 0;
    std::vector<std::uint64_t> buckets;
    std::uint64_t count = 0;
  };
  struct Family {
    Kind kind = Kind::kCounter;
    std::string help;
    std::vector<double> bounds;
    std::map<std::string, Series> series;  // by rendered labels
  };

  void Declare(std::string_view name, std::string_view help, Kind kind, std::vector<double> bounds);
  Series& SeriesOf(std::string_view name, const Labels& labels);
  static std::string TextOf(const std::string& name, const Family& family);

  std::map<std::string, Family, std::less<>> families_;
  std::vector<std::function<void(Metrics&)>> collectors_;
};

}  // namespace galen
