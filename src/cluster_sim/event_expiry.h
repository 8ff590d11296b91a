// Removes Events an hour after they were last written, as kube-apiserver's --event-ttl does, and
// the oldest ones earlier when there are too many. Belongs to the API's loop.
#pragma once

#include <cstdint>
#include <deque>

#include "base/loop.h"
#include "cluster_sim/object_store.h"

namespace galen::cluster_sim {

class EventExpiry {
 public:
  // Events that are there already live as long as new ones. What is lent outlives this.
  EventExpiry(Loop& loop, ObjectStore& store);

  static constexpr Duration kTimeToLive = std::chrono::hours(1);
  static constexpr std::size_t kEventsMax = 20'000;

 private:
  // One write of an Event; an Event written again since has a later one.
  struct Written {
    Time due;
    ObjectKey key;
    std::uint64_t version = 0;
  };

  void Add(const ObjectKey& key, std::uint64_t version);
  void RemoveDue();
  void SetTimer();

  Loop& loop_;
  ObjectStore& store_;
  std::deque<Written> written_;  // in order of time
  Timer timer_;
};

}  // namespace galen::cluster_sim
