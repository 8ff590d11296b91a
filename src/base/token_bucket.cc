#include "base/token_bucket.h"

#include <algorithm>

#include "base/check.h"

namespace galen {

TokenBucket::TokenBucket(std::int64_t capacity, Duration refill)
    : capacity_(capacity), refill_(refill) {
  GALEN_CHECK(capacity >= 1 && refill >= Duration(1));
}

bool TokenBucket::Take(Time now, std::int64_t tokens) {
  if (Wait(now, tokens) > Duration::zero()) return false;
  full_at_ = FullAfter(now, tokens);
  return true;
}

Duration TokenBucket::Wait(Time now, std::int64_t tokens) const {
  return std::max(Duration::zero(), FullAfter(now, tokens) - now - capacity_ * refill_);
}

Time TokenBucket::FullAfter(Time now, std::int64_t tokens) const {
  return std::max(full_at_, now) + std::min(tokens, capacity_) * refill_;
}

}  // namespace galen
