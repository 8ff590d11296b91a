// How far the clock on the wall was set back while the agent ran, measured by the clock that nobody
// sets. Beside a time from before such a step, what is dated after it may have happened that much
// later than it looks. Belongs to the agent's loop.
#pragma once

#include <algorithm>

#include "base/loop/loop.h"

namespace galen::agent {

class ClockSteps {
 public:
  // A smaller step cannot be distinguished from the noise of reading two clocks, and is below the
  // precision of a Pod's end, which has whole seconds.
  static constexpr Duration kLeast = std::chrono::milliseconds(100);

  // The loop outlives this.
  explicit ClockSteps(const Loop& loop) : loop_(loop), ahead_(Ahead()) {}

  // Reads both clocks. To be called whenever something comes that has a time: a step back that is
  // undone before the next call stays unseen.
  void Look() {
    const Duration ahead = Ahead();
    if (ahead < ahead_ && ahead_ - ahead < kLeast) return;
    set_back_ += std::max(ahead_ - ahead, Duration::zero());
    ahead_ = ahead;
  }
  // All steps back together, from the beginning to the last look. Steps forward take nothing off:
  // what was dated before them stays as it is.
  Duration set_back() const { return set_back_; }

 private:
  // Of the clock on the wall before the other. A machine that sleeps makes it more.
  Duration Ahead() const {
    return loop_.WallNow().time_since_epoch() - loop_.Now().time_since_epoch();
  }

  const Loop& loop_;
  Duration ahead_;
  Duration set_back_{};
};

}  // namespace galen::agent
