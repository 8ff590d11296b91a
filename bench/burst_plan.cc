#include "bench/burst_plan.h"

#include <fmt/core.h>

#include <cmath>

namespace galen::bench {
namespace {

// One burst in each of as many ranges, from what a node with hundreds of devices has in one fault,
// to about twenty seconds of a driver that does nothing but change.
constexpr int kBursts = 3;
constexpr double kSmallest = 1'000;
constexpr double kLargest = 160'000;

constexpr std::string_view kBefore = "change ", kBehind = " of the burst";

}  // namespace

BurstReport ReportAfter(std::int64_t made, std::int64_t device, std::int64_t devices) {
  if (made <= device) return {};
  const std::int64_t turns = (made - 1 - device) / devices;  // before the last one
  return {.healthy = turns % 2 == 1, .change = device + turns * devices};
}

std::string SentenceOf(const BurstReport& report) {
  return report.change < 0 ? "" : fmt::format("{}{}{}", kBefore, report.change, kBehind);
}

std::string ChangeIn(std::string_view sentence) {
  if (!sentence.starts_with(kBefore) || !sentence.ends_with(kBehind)) return "";
  sentence.remove_prefix(kBefore.size());
  if (sentence.size() <= kBehind.size()) return "";
  sentence.remove_suffix(kBehind.size());
  return std::string(sentence);
}

std::vector<std::int64_t> DrawBursts(Random& random, std::int64_t devices) {
  const double range = std::log(kLargest / kSmallest) / kBursts;
  std::vector<std::int64_t> bursts;
  for (int i = 0; i < kBursts; ++i) {
    const auto drawn =
        static_cast<std::int64_t>(kSmallest * std::exp(range * (i + random.Fraction())));
    bursts.push_back(((drawn / devices - 1) | 1) * devices);
  }
  return bursts;
}

std::string DeviceName(std::int64_t device) { return fmt::format("gpu-{}", device); }

}  // namespace galen::bench
