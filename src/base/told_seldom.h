// Limits the rate of a log line: a burst is logged line by line, then one line now and then with
// the number of those that were left out. Lines after the last that was logged are lost when none
// follows, so this is no record of states; the journal is. Bounded. Belongs to its owner's loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace galen::agent {

class ToldSeldom {
 public:
  // A person reads a burst of this size, and no longer one; both for each key.
  static constexpr int kBurst = 200;
  static constexpr Duration kEvery = std::chrono::seconds(10);
  // Past it the key that was logged longest ago is forgotten.
  static constexpr std::size_t kKeysMax = 256;

  // nullopt: do not log now. Otherwise: log, and say how many lines of this key were left out
  // before it. `now` never goes back.
  std::optional<std::uint64_t> Take(const std::string& key, Time now) {
    Key& k = Find(key, now);
    const auto earned = (now - k.counted) / kEvery;
    k.left = static_cast<int>(std::min<std::int64_t>(kBurst, k.left + earned));
    k.counted += earned * kEvery;
    if (k.left == 0) {
      ++k.left_out;
      return std::nullopt;
    }
    --k.left;
    k.told = now;
    return std::exchange(k.left_out, 0);
  }

 private:
  struct Key {
    int left = kBurst;
    Time counted{};  // until when `left` has been counted
    Time told{};
    std::uint64_t left_out = 0;
  };

  Key& Find(const std::string& key, Time now) {
    const auto found = keys_.find(key);
    if (found != keys_.end()) return found->second;
    if (keys_.size() >= kKeysMax) {
      keys_.erase(
          std::ranges::min_element(keys_, {}, [](const auto& each) { return each.second.told; }));
    }
    return keys_.emplace(key, Key{.counted = now, .told = now}).first->second;
  }

  std::map<std::string, Key> keys_;
};

}  // namespace galen::agent
