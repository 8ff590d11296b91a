// Limits a rate: a burst passes as a whole, what comes after it at a steady pace. The bucket holds
// `capacity` tokens at first, and one comes back each `refill` until it is full again. Pure: the
// time is handed in and never goes back. Exact: no rounding adds up.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace galen {

class TokenBucket {
 public:
  // Both at least 1.
  TokenBucket(std::int64_t capacity, Duration refill);

  // Takes `tokens` and returns true if the bucket holds as many now; else takes none. What costs
  // more than the capacity passes when the bucket is full.
  bool Take(Time now, std::int64_t tokens = 1);
  // Takes `tokens` whether the bucket has them or not: what it lacks it owes, and Wait is longer.
  // For work whose cost is known afterwards.
  void Spend(Time now, std::int64_t tokens) {
    full_at_ = std::max(full_at_, now) + tokens * refill_;
  }
  // How long until Take succeeds if nothing is taken before; zero: it would now.
  Duration Wait(Time now, std::int64_t tokens = 1) const;

 private:
  // The time at which the bucket would be full again if `tokens` were taken now.
  Time FullAfter(Time now, std::int64_t tokens) const;

  std::int64_t capacity_;
  Duration refill_;
  Time full_at_ = Time::min();
};

}  // namespace galen
