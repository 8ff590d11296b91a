#include "agent/publish/change_pacer.h"

#include <algorithm>

namespace galen::agent {

void ChangePacer::Changed(HealthState state, Time now) {
  // What is still held makes a storm of it, however long its driver paused.
  const bool single = calm(now) && !held_since_;
  // A Pod must not call a device better than it is while it does this and that.
  const bool worse = told_ && state > *told_;
  rest_ = single ? kRest / 2 : std::min(rest_ * 2, kRestMost);
  if (!held_since_) held_since_ = now;
  at_once_ = at_once_ || single || worse;
  changed_ = now;
  state_ = state;
}

void ChangePacer::Sent() {
  held_since_.reset();
  at_once_ = false;
  told_ = state_;
}

std::optional<Time> ChangePacer::not_before() const {
  if (!held_since_ || at_once_) return std::nullopt;
  return std::min(*changed_ + rest_, *held_since_ + kHoldMost);
}

}  // namespace galen::agent
