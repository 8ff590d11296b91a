// Whether a process goes on growing: what was resident early against what is resident late. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace galen::bench {

// Two stretches of one series of samples, by the median of each: a single sample swings by what is
// just under way.
struct MemorySlope {
  std::uint64_t early_bytes = 0, late_bytes = 0;

  // How much more, in pages of 4 KiB; negative: less.
  std::int64_t pages() const;
};

// What an allocator gives and takes by itself while the same work goes on, seen in runs of an hour:
// 128 pages are half a MiB. Smaller leaks pass; see LeastLeakFound for how small.
inline constexpr std::int64_t kFlatPagesMost = 128;

// The bytes that each of `events` would have to leave behind for the slope to be past
// kFlatPagesMost, when so many lie between the middles of the two stretches: 2.6 for the 200,000
// changes of `sustained`; in `soak` 910 for each of 576 changes, or 5.3 KiB for each of 96 Pods.
// REQUIRES: events > 0.
double LeastLeakFound(std::uint64_t events);

// The growth of `resident`, sampled at equal distances: `count` from index `early` on, and the last
// `count`. REQUIRES: count > 0, early + 2 * count <= resident.size().
MemorySlope SlopeOf(const std::vector<std::uint64_t>& resident, std::size_t early,
                    std::size_t count);

}  // namespace galen::bench
