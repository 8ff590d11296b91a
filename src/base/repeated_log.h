// For log lines that would repeat: LogOnce logs a lasting fault once, LogSparsely logs a burst line
// by line and a flood now and then. Both decide by a key, are bounded, write nothing themselves and
// belong to their owner's loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "base/token_bucket.h"

namespace galen {

// Remembers which keys were logged. Past its limit the one that was logged longest ago may be
// logged again: a line too many costs less than one that is missing.
class LogOnce {
 public:
  static constexpr std::size_t kKeysMax = 1024;

  // True when `key` was not logged yet: the caller logs it now.
  bool First(const std::string& key) {
    if (!keys_.insert(key).second) return false;
    order_.push_back(key);
    if (order_.size() > kKeysMax) {
      keys_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  // The fault has gone; should it come back, it is logged again.
  void Forget(const std::string& key) {
    if (keys_.erase(key) > 0) order_.erase(std::find(order_.begin(), order_.end(), key));
  }

 private:
  std::set<std::string> keys_;
  std::deque<std::string> order_;  // first logged, first forgotten
};

// Logs a burst of lines as a whole; of a flood it logs one line now and then, with the number of
// lines left out before it. Lines left out after the last one that was logged are counted nowhere,
// so this is for the log only, not for a record of states (that is the journal).
class LogSparsely {
 public:
  // For each key: a person reads a burst of this many lines, but none that is longer.
  static constexpr int kBurst = 200;
  static constexpr Duration kEvery = std::chrono::seconds(10);
  // Past it the key that was logged longest ago is new again.
  static constexpr std::size_t kKeysMax = 256;

  // nullopt: not now. Otherwise the caller logs the line and says how many lines of this key were
  // left out before it. `now` never goes back.
  std::optional<std::uint64_t> Take(const std::string& key, Time now) {
    Key& k = Find(key, now);
    if (!k.lines.Take(now)) {
      ++k.left_out;
      return std::nullopt;
    }
    k.logged = now;
    return std::exchange(k.left_out, 0);
  }

 private:
  struct Key {
    TokenBucket lines{kBurst, kEvery};
    Time logged{};
    std::uint64_t left_out = 0;
  };

  Key& Find(const std::string& key, Time now) {
    const auto found = keys_.find(key);
    if (found != keys_.end()) return found->second;
    if (keys_.size() >= kKeysMax) {
      keys_.erase(
          std::ranges::min_element(keys_, {}, [](const auto& each) { return each.second.logged; }));
    }
    return keys_.emplace(key, Key{.logged = now}).first->second;
  }

  std::map<std::string, Key> keys_;
};

}  // namespace galen
