#include "bench/burst_plan.h"

#include <fmt/core.h>

namespace galen::bench {

BurstReport ReportAfter(std::int64_t made, std::int64_t device, std::int64_t devices) {
  if (made <= device) return {};
  const std::int64_t turns = (made - 1 - device) / devices;  // before the last one
  return {.healthy = turns % 2 == 1, .change = device + turns * devices};
}

std::string SentenceOf(const BurstReport& report) {
  return report.change < 0 ? "" : fmt::format("change {} of the burst", report.change);
}

std::string DeviceName(std::int64_t device) { return fmt::format("gpu-{}", device); }

}  // namespace galen::bench
