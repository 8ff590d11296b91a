// Remembers what a person was already told, so that a fault that lasts is one line and not a flood.
// Bounded: past its limit nothing new is told. Belongs to its owner's loop.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace galen::agent {

class ToldOnce {
 public:
  static constexpr std::size_t kKeysMax = 1024;

  // True when `key` was not told yet: now is the time.
  bool First(const std::string& key) { return keys_.size() < kKeysMax && keys_.insert(key).second; }
  // The fault has gone; should it come back, it is told again.
  void Forget(const std::string& key) { keys_.erase(key); }

 private:
  std::set<std::string> keys_;
};

}  // namespace galen::agent
