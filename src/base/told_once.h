// Remembers what was already reported to a person, so that a fault that lasts is one line and not a
// flood. Bounded: past its limit the oldest entry is forgotten and may be reported again, because a
// repeated line costs less than a missing one. Belongs to its owner's loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <set>
#include <string>

namespace galen::agent {

class ToldOnce {
 public:
  static constexpr std::size_t kKeysMax = 1024;

  // True when `key` was not reported yet: report it now.
  bool First(const std::string& key) {
    if (!keys_.insert(key).second) return false;
    order_.push_back(key);
    if (order_.size() > kKeysMax) {
      keys_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  // The fault has gone; should it come back, it is reported again.
  void Forget(const std::string& key) {
    if (keys_.erase(key) > 0) order_.erase(std::find(order_.begin(), order_.end(), key));
  }

 private:
  std::set<std::string> keys_;
  std::deque<std::string> order_;  // oldest first
};

}  // namespace galen::agent
