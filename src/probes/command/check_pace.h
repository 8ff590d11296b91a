// How often a command runs: as its sign says, and more seldom while it costs too much or does not
// end. A value; no clock.
#pragma once

#include <optional>

#include "base/time.h"

namespace galen::probes {

class CheckPace {
 public:
  // The most of one processor that a command may use over time.
  static constexpr double kCpuShareMost = 0.05;
  // Its interval doubles up to this many times what the sign says.
  static constexpr int kSlowdownMost = 16;

  explicit CheckPace(Duration every) : every_(every) {}

  // When it runs next; Time::min() before the first run.
  Time due() const { return began_ ? *began_ + interval() : Time::min(); }
  Duration interval() const { return every_ * slowdown_; }
  void Begin(Time now) { began_ = now; }
  // The run ended, or was killed at its timeout. One that used more than its share of the interval
  // doubles that; one that would be within its share at half of it halves it.
  void End(Duration cpu, bool timed_out);

 private:
  Duration every_;
  int slowdown_ = 1;
  std::optional<Time> began_;
};

}  // namespace galen::probes
