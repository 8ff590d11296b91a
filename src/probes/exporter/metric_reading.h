// What a page of an exporter says of one sign of one device. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/data/metrics_text.h"
#include "probes/rules/placeholders.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// A value, an error, or neither: the exporter does not show the metric at all, and the sign is
// optional.
struct MetricReading {
  std::optional<double> value{};
  std::string error{};

  bool operator==(const MetricReading&) const = default;
};

// REQUIRES: `sign` has a metric of `exporter`. A series must be the device's, or several that
// say the same (of its instances, or of the Pods that share it): which of two values is right
// nobody knows. A value that is none (NaN), a negative count or one out of the sign's bounds is an
// error.
MetricReading ReadMetric(const SignSpec& sign, const ExporterSpec& exporter,
                         const MetricSamples& samples, const CheckedDevice& device);

// Bus addresses however they are written: exporters have "00000000:4B:00.0" for "0000:4b:00.0".
bool SamePciAddress(std::string_view a, std::string_view b);

}  // namespace galen::probes
