#include "bench/memory_slope.h"

#include <algorithm>

#include "base/check.h"

namespace galen::bench {
namespace {

constexpr std::int64_t kPageBytes = 4096;

std::uint64_t MedianOf(std::vector<std::uint64_t> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

std::int64_t MemorySlope::pages() const {
  return (static_cast<std::int64_t>(late_bytes) - static_cast<std::int64_t>(early_bytes)) /
         kPageBytes;
}

double LeastLeakFound(std::uint64_t events) {
  GALEN_CHECK(events > 0);
  return static_cast<double>(kFlatPagesMost * kPageBytes) / static_cast<double>(events);
}

MemorySlope SlopeOf(const std::vector<std::uint64_t>& resident, std::size_t early,
                    std::size_t count) {
  GALEN_CHECK(count > 0 && early + 2 * count <= resident.size());
  const auto at = [&](std::size_t i) { return resident.begin() + static_cast<std::ptrdiff_t>(i); };
  return {.early_bytes = MedianOf({at(early), at(early + count)}),
          .late_bytes = MedianOf({at(resident.size() - count), resident.end()})};
}

}  // namespace galen::bench
