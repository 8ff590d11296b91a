#include "agent/containers/container_life.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace galen::agent {

Duration RestartDelay::Next(Duration ran) {
  if (ran > kForgetAfter) next_ = Duration::zero();
  const Duration delay = next_;
  next_ = delay == Duration::zero() ? kFirst : std::min(2 * delay, kMost);
  return delay;
}

bool ContainerLife::RestartsAfter(int code) const {
  // A sidecar lives as long as its Pod, whatever the Pod's policy.
  if (kind_ == Kind::kSidecar) return true;
  if (policy_ == RestartPolicy::kNever) return false;
  // An init container is there to succeed once.
  return code != 0 || (kind_ == Kind::kMain && policy_ == RestartPolicy::kAlways);
}

void ContainerLife::Restore(int restarts, const std::optional<RunEnd>& last, Time now) {
  GALEN_CHECK(!ever_ran_);
  restarts_ = restarts;
  if (!last) return;
  ever_ran_ = true;
  end_ = last;
  state_ = State::kEnded;
  restarts_again_ = RestartsAfter(last->code);
  // The delays of the agent before us are not known, as the kubelet's are not after its restart.
  start_at_ = restarts_again_ ? now : Time::max();
}

void ContainerLife::OnStarted(Time now, WallTime wall) {
  GALEN_CHECK(!running());
  if (ever_ran_) ++restarts_;
  ever_ran_ = true;
  state_ = State::kRunning;
  start_at_ = Time::max();
  began_ = now;
  started_ = wall;
  hindrance_.clear();
  hindrance_message_.clear();
}

void ContainerLife::OnEnded(const RunEnd& end, Time now) {
  GALEN_CHECK(running());
  before_ = std::exchange(end_, end);
  state_ = State::kEnded;
  restarts_again_ = RestartsAfter(end.code);
  delay_ = restarts_again_ ? delays_.Next(now - began_) : Duration::zero();
  start_at_ = restarts_again_ ? now + delay_ : Time::max();
}

void ContainerLife::OnUnable(std::string reason, std::string message, Time again) {
  GALEN_CHECK(!running());
  state_ = State::kWaiting;
  hindrance_ = std::move(reason);
  hindrance_message_ = std::move(message);
  start_at_ = again;
}

}  // namespace galen::agent
