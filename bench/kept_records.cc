#include "bench/kept_records.h"

namespace galen::bench {

std::uint64_t KeptRecords::newest_without_gap() const {
  std::uint64_t count = 0;
  for (auto it = sequences_.rbegin(); it != sequences_.rend(); ++it) {
    if (count > 0 && *it + 1 != *(it - 1)) break;
    ++count;
  }
  return count;
}

bool KeptRecords::AreAll(bool rewritten) const {
  if (sequences_.empty()) return false;
  const std::uint64_t newest = newest_without_gap();
  return rewritten ? newest >= kWindowLeast
                   : newest == sequences_.size() && sequences_.front() == 1;
}

}  // namespace galen::bench
