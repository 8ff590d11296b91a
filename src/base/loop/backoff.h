// How long to wait before trying again: doubling with jitter up to a bound. A value: copyable,
// without a clock, a timer or a thread of its own. The holder asks Next after each failure, waits
// that long and calls Reset after a success. Chance is handed in, so a run can be repeated from its
// seed.
#pragma once

#include "base/random.h"
#include "base/time.h"

namespace galen {

// The two ends of the delays. Not checked: a `first` beyond `most` counts as `most`.
struct BackoffPolicy {
  // Short enough that a restart of the peer is not felt, long enough not to be a busy loop.
  Duration first = std::chrono::milliseconds(100);
  // The longest that a healed fault goes unnoticed; also the rate at which a dead peer is asked.
  Duration most = std::chrono::seconds(30);
};

class Backoff {
 public:
  explicit Backoff(BackoffPolicy policy) : policy_(policy) {}

  // The delay before the next try, and counts one more failure. Between half of and the whole of 1,
  // 2, 4 … times `first`, at most `most`: the half that is left to chance spreads those that failed
  // together, the half that is fixed keeps every wait a real one.
  Duration Next(Random& random);
  // After a success: the next delay is about `first` again.
  void Reset() { failures_ = 0; }
  // How often Next was asked since the last Reset.
  int failures() const { return failures_; }

 private:
  BackoffPolicy policy_;
  int failures_ = 0;
};

}  // namespace galen
