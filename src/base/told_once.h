// Remembers what a person was already told, so that a fault that lasts is one line and not a flood.
// Bounded: past its limit what was told longest ago may be told again, for a line too many costs
// less than one that never came. Belongs to its owner's loop.
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

  // True when `key` was not told yet: now is the time.
  bool First(const std::string& key) {
    if (!keys_.insert(key).second) return false;
    order_.push_back(key);
    if (order_.size() > kKeysMax) {
      keys_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  // The fault has gone; should it come back, it is told again.
  void Forget(const std::string& key) {
    if (keys_.erase(key) > 0) order_.erase(std::find(order_.begin(), order_.end(), key));
  }

 private:
  std::set<std::string> keys_;
  std::deque<std::string> order_;  // first told, first forgotten
};

}  // namespace galen::agent
