// When a Pod is told of what one of its devices became. A single change and bad news: at once. What
// else a device does within moments of its last change waits until it rests, so that a storm of
// changes is two writes, and its end is always told. Pure.
#pragma once

#include <optional>

#include "base/time.h"
#include "model/health.h"

namespace galen::agent {

// Of one device of one Pod. `now` never goes back.
class ChangePacer {
 public:
  // A change that comes this long after the one before is a single one, unless that is still held.
  static constexpr Duration kCalm = std::chrono::milliseconds(250);
  // How long a device has to stay as it is that changed again within kCalm; with each further
  // change twice as long, up to the most: a storm whose driver pauses for breath is one storm.
  static constexpr Duration kRest = std::chrono::milliseconds(100);
  static constexpr Duration kRestMost = std::chrono::milliseconds(500);
  // However long the storm lasts, the Pod is never further behind: well below the 30 s that a
  // driver's word holds by default.
  static constexpr Duration kHoldMost = std::chrono::seconds(5);

  // The device is in `state` from now on, or is there for another reason.
  void Changed(HealthState state, Time now);
  // All of it is on its way to the Pod, or the Pod says it already.
  void Sent();
  // It did not arrive: what is to be told waits for nothing more.
  void Failed() { *this = ChangePacer(); }

  // Before when the Pod is not to be told; nullopt: no matter when.
  std::optional<Time> not_before() const;
  // Whether the last change is so long ago that it makes no storm of the next.
  bool calm(Time now) const { return !changed_ || now - *changed_ >= kCalm; }

 private:
  std::optional<Time> changed_;     // the last time
  std::optional<Time> held_since_;  // when the first change came that was not sent
  bool at_once_ = false;            // one of those is not to wait
  Duration rest_ = kRest;
  HealthState state_ = HealthState::kUnknown;
  std::optional<HealthState> told_;  // as it was sent last
};

}  // namespace galen::agent
