// Keeps a line that is worth telling each time from becoming a flood: a burst is told line by line,
// then one now and then with the number of those that were left out. The lines after the last that
// was told are left out for good when none follows: what is told so is no record of states, which
// is elsewhere (the journal). Bounded. Belongs to its owner's loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "base/token_bucket.h"

namespace galen::agent {

class ToldSeldom {
 public:
  // A person reads a burst of this size, and no longer one; both for each key.
  static constexpr int kBurst = 200;
  static constexpr Duration kEvery = std::chrono::seconds(10);
  // Past it the key that was told longest ago is new again.
  static constexpr std::size_t kKeysMax = 256;

  // nullopt: not now. Otherwise: tell, and say how many lines of this key were left out before it.
  // `now` never goes back.
  std::optional<std::uint64_t> Take(const std::string& key, Time now) {
    Key& k = Find(key, now);
    if (!k.lines.Take(now)) {
      ++k.left_out;
      return std::nullopt;
    }
    k.told = now;
    return std::exchange(k.left_out, 0);
  }

 private:
  struct Key {
    TokenBucket lines{kBurst, kEvery};
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
    return keys_.emplace(key, Key{.told = now}).first->second;
  }

  std::map<std::string, Key> keys_;
};

}  // namespace galen::agent
