#include "base/loop/backoff.h"

#include <algorithm>

namespace galen {

Duration Backoff::Next(Random& random) {
  Duration whole = std::min(policy_.first, policy_.most);
  // Doubled step by step and stopped at the bound, so that no count of failures overflows.
  for (int i = 0; i < failures_ && whole < policy_.most; ++i) {
    whole = whole > policy_.most / 2 ? policy_.most : whole * 2;
  }
  ++failures_;
  // Only the upper half is drawn, see the header; a delay of almost nothing would be no backoff.
  const Duration half = whole / 2;
  return half + std::chrono::duration_cast<Duration>((whole - half) * random.Fraction());
}

}  // namespace galen
