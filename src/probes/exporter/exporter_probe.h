// Asks the exporters that a table names and shows what they say of each device: one fetch for all
// signs and devices. An exporter that is slow or away holds up nothing. Belongs to its loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/data/metrics_text.h"
#include "base/files/disk_queue.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "probes/exporter/exporter_fetch.h"
#include "probes/placeholders.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// One sign of one device on a page: a value, an error, or neither, where the exporter does not show
// the metric at all and the sign is optional.
struct MetricReading {
  std::optional<double> value{};
  std::string error{};

  bool operator==(const MetricReading&) const = default;
};

// Pure. REQUIRES: `sign` has a metric of `exporter`. A series must be the device's, or several that
// say the same (of its instances, or of the Pods that share it): which of two values is right
// nobody knows. NaN, a negative count and a value out of the sign's bounds are errors.
MetricReading ReadMetric(const SignSpec& sign, const ExporterSpec& exporter,
                         const MetricSamples& samples, const CheckedDevice& device);

// Bus addresses however they are written: exporters have "00000000:4B:00.0" for "0000:4b:00.0".
bool SamePciAddress(std::string_view a, std::string_view b);

// FetchExporter, or what a test has in its place; runs on a thread.
using ExporterFetch = std::function<StatusOr<std::string>(const ExporterAddress&, Duration)>;

class ExporterProbe final : public Probe {
 public:
  // The loop, log and table are lent and outlive the probe.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    const RuleTable& rules;
    std::function<std::unique_ptr<DiskQueue>()> make_queue;  // the thread of an exporter
    ExporterFetch fetch;
  };

  explicit ExporterProbe(Parts parts);
  ~ExporterProbe() override;

  // The devices from now on, each with a name of its own. What is known of those that stay as they
  // are stays.
  void SetDevices(const std::vector<CheckedDevice>& devices);
  // `sink` gets what a page says as soon as it has come.
  void Start(SignSink& sink) { sink_ = &sink; }
  // Begins what is due, without waiting for it, and gives the last values, for the patience of
  // their exporter; from then on errors. A sign of which neither is known yet is left out.
  StatusOr<std::vector<Sign>> Observe() override;

 private:
  struct Exporter {
    const ExporterSpec* spec = nullptr;
    ExporterAddress address;
    MetricNames names;   // of the metrics that signs read
    MetricNames labels;  // by which devices are found in them
    std::unique_ptr<DiskQueue> queue;
    bool asked = false;  // a fetch is under way
    Time next{};
    std::string error{};  // of the last fetch
  };
  // The sign's name, the device's name.
  using Key = std::pair<std::string, std::string>;
  // The present knowledge of one sign of one device.
  struct Known {
    Time good_at{};                    // the last value, or when it was first asked for
    std::optional<Sign> last{};        // of a reading or counter
    std::optional<double> previous{};  // of an event: the number shown before
    std::string trouble{};             // why the last page said nothing
    bool had = false;                  // a value, at any time
    bool is_absent = false;            // the exporter does not have it, and need not
    bool in_doubt = true;              // no value yet, or an error was shown since
  };

  void Begin(Exporter& exporter);
  void OnPage(const std::string& name, const StatusOr<MetricSamples>& page);
  // Takes a page, or its error, for all signs and devices; gives what is news.
  std::vector<Sign> Take(const Exporter& exporter, const StatusOr<MetricSamples>& page);
  void TakeValue(const SignSpec& sign, const CheckedDevice& device, double value,
                 std::vector<Sign>& news);
  void NoteFetch(Exporter& exporter, const Status& status);
  // The value while it is young enough, then the error; nullopt while neither is known.
  std::optional<Sign> SignOf(const SignSpec& sign, const CheckedDevice& device);
  Sign MakeSign(const SignSpec& sign, const CheckedDevice& device) const;
  const ExporterSpec& SpecOf(const SignSpec& sign) const;

  Parts parts_;
  SignSink* sink_ = nullptr;
  std::map<std::string, Exporter> exporters_;
  std::map<std::string, CheckedDevice> devices_;
  std::map<Key, Known> known_;
  Liveness liveness_;
};

}  // namespace galen::probes
