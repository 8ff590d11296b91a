// Removes Events an hour after they were last written, as kube-apiserver's --event-ttl does, and
// the longest unwritten earlier when there are too many. Runs on a timer of its own. Belongs to the
// API's loop.
#pragma once

#include <cstdint>
#include <deque>

#include "api_sim/storage/object_store.h"
#include "base/loop/loop.h"

namespace galen::api_sim {

class EventExpiry {
 public:
  // Events that are there already live as long as new ones: an hour from now. The arguments outlive
  // this.
  EventExpiry(Loop& loop, ObjectStore& store);

  // kube-apiserver's default of --event-ttl.
  static constexpr Duration kTimeToLive = std::chrono::hours(1);
  // The most writes that are remembered, several for an Event that is counted up often. At the
  // limit the oldest is dropped, and its Event removed unless it was written again since.
  static constexpr std::size_t kEventsMax = 20'000;

 private:
  // One write of an Event; an Event written again since has a later one.
  struct Written {
    Time due;
    ObjectKey key;
    std::uint64_t version = 0;
  };

  void Add(const ObjectKey& key, std::uint64_t version);
  // Removes Events that are due or too many, and sets the timer for the next.
  void RemoveDue();
  void SetTimer();

  Loop& loop_;
  ObjectStore& store_;
  std::deque<Written> written_;  // in order of time
  Timer timer_;
};

}  // namespace galen::api_sim
