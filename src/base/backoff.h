// How long to wait before trying again: doubling with jitter up to a bound. A value.
#pragma once

#include "base/random.h"
#include "base/time.h"

namespace galen {

struct BackoffPolicy {
  Duration first = std::chrono::milliseconds(100);
  Duration most = std::chrono::seconds(30);
};

class Backoff {
 public:
  explicit Backoff(BackoffPolicy policy) : policy_(policy) {}

  // The next delay; between half of and the whole of 1, 2, 4 … times `first`, at most `most`.
  Duration Next(Random& random);
  // After a success.
  void Reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  BackoffPolicy policy_;
  int failures_ = 0;
};

}  // namespace galen
