// How many of a driver's reports are read: a burst as a whole, a flood at a steady pace, so that
// one driver costs the agent a bounded share of its thread. A token bucket. Pure.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace galen::agent {

class ReportPacer {
 public:
  // What is in the bucket at first, in reports: what the promise of no lost change is measured with
  // (docs/guide/figures.md). No driver that reports changes of hardware comes near.
  static constexpr int kBurst = 10'000;
  // How many come in again. A report may change all of a driver's devices, and each change is
  // written to disk before it is told: that is what bounds this number.
  static constexpr int kPerSecond = 50;
  // A long report counts for several: decoding takes its time.
  static constexpr std::size_t kBytesPerToken = 16 * 1024;

  // Whether a report of `bytes` may be read now; takes its cost if so. A full bucket lets one of
  // any size pass. `now` never goes back.
  bool Take(std::size_t bytes, Time now);
  // How long until Take says yes, if nothing is taken before; zero: it would now.
  Duration Wait(std::size_t bytes, Time now) const;

 private:
  double LevelAt(Time now) const;

  double level_ = kBurst;  // at `at_`
  Time at_{};
};

}  // namespace galen::agent
