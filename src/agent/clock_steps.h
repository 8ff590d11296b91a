// How far the clock on the wall was set back while the agent ran, measured by the clock that nobody
// sets. After such a step a time may look earlier than it was, by that much. Belongs to the agent's
// loop.
#pragma once

#include <algorithm>
#include <optional>

#include "base/loop/loop.h"

namespace galen::agent {

class ClockSteps {
 public:
  // A smaller step is below the precision of a Pod's end, which has whole seconds.
  static constexpr Duration kLeast = std::chrono::milliseconds(100);
  // Both clocks are read at one moment when the reading took less: a thread that waits for a CPU
  // between the two would see a step that nobody made. Far below kLeast, far above a reading.
  static constexpr Duration kTogether = std::chrono::milliseconds(10);
  static constexpr int kReadingsMax = 5;  // until two are together; else the look sees nothing

  // The loop outlives this.
  explicit ClockSteps(const Loop& loop) : loop_(loop), ahead_(Ahead()) {}

  // Reads both clocks. To be called whenever something comes that has a time: a step back that is
  // undone before the next call stays unseen, and one that a busy machine hides is seen by a later
  // call.
  void Look() {
    const std::optional<Duration> ahead = Ahead();
    if (!ahead) return;
    const Duration before = ahead_.value_or(*ahead);
    if (*ahead < before && before - *ahead < kLeast) return;
    set_back_ += std::max(before - *ahead, Duration::zero());
    ahead_ = *ahead;
  }
  // All steps back together, from the beginning to the last look. Steps forward take nothing off:
  // what was dated before them stays as it is.
  Duration set_back() const { return set_back_; }

 private:
  // How far the clock on the wall is ahead of the other; nullopt: they could not be read together.
  // A machine that sleeps makes it more.
  std::optional<Duration> Ahead() const {
    for (int reading = 0; reading < kReadingsMax; ++reading) {
      const Time before = loop_.Now();
      const WallTime wall = loop_.WallNow();
      if (loop_.Now() - before >= kTogether) continue;
      return wall.time_since_epoch() - before.time_since_epoch();
    }
    return std::nullopt;
  }

  const Loop& loop_;
  std::optional<Duration> ahead_;  // at the last step; nullopt: it was never read
  Duration set_back_{};
};

}  // namespace galen::agent
