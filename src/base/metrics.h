// Counters, gauges and histograms, written as Prometheus text (exposition format 0.0.4). A registry
// is handed to whoever counts; it belongs to one loop. Names are declared once at start; a name
// that was not is our bug and ends the process. Series are bounded, because labels may come from
// outside.
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
  // Names and values; borrowed for the call only. The order does not matter. Values may be any
  // bytes (broken UTF-8 is replaced), names are ours.
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  // A family past this many series counts the rest in one series whose labels are all "other". More
  // than the devices of a large node; less than what hurts a Prometheus server.
  static constexpr std::size_t kSeriesPerFamilyMax = 4096;

  // Declares a family. REQUIRES: called once a name, before its first use. Counters end in _total
  // (Prometheus's naming practice). `help` is one sentence; it may hold any text.
  void DeclareCounter(std::string_view name, std::string_view help);
  void DeclareGauge(std::string_view name, std::string_view help);
  // `bounds` are the buckets' upper ends, included, rising, in the unit of the name (seconds). The
  // bucket +Inf is added. REQUIRES: sorted.
  void DeclareHistogram(std::string_view name, std::string_view help, std::vector<double> bounds);

  // Add counts, Set replaces, Observe puts one value into a histogram; a series starts with its
  // first call. Add may move a gauge up and down, and Set a counter whose count is kept elsewhere.
  // REQUIRES: declared, as a histogram for Observe and as anything else for the others; `amount` of
  // a counter is not negative.
  void Add(std::string_view name, const Labels& labels, double amount = 1);
  void Set(std::string_view name, const Labels& labels, double value);
  void Observe(std::string_view name, const Labels& labels, double value);
  // Forgets one series, e.g. of a device that is gone. Does nothing when there is none.
  void Remove(std::string_view name, const Labels& labels);
  // Runs before each Text(), in the order of these calls, for values that are read rather than
  // counted. `collect` cannot be taken back: what it captures outlives the last Text().
  void OnCollect(std::function<void(Metrics&)> collect);

  // The present value of a counter or gauge, for tests and for our own pages; 0 when there is no
  // such series. Of a histogram: the sum.
  double Value(std::string_view name, const Labels& labels = {}) const;

  // All families in order of names, with HELP and TYPE even where there is no series yet.
  std::string Text();

 private:
  enum class Kind { kCounter, kGauge, kHistogram };
  // A counter's or gauge's value; a histogram's sum, with `count` values seen. `buckets` count each
  // their own values only; Text() adds them up.
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
  // REQUIRES: declared.
  bool IsHistogram(std::string_view name) const;
  Series& SeriesOf(std::string_view name, const Labels& labels);
  static std::string TextOf(const std::string& name, const Family& family);

  std::map<std::string, Family, std::less<>> families_;
  std::vector<std::function<void(Metrics&)>> collectors_;
};

}  // namespace galen
