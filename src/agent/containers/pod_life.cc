#include "agent/containers/pod_life.h"

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
  // The delays that an agent before this one had reached are not known, just as for a restarted
  // kubelet.
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

PodLife::PodLife(const PodPlan& plan) : grace_(plan.grace) {
  for (const ContainerPlan& container : plan.containers) {
    members_.push_back({.life = ContainerLife(container.kind, plan.restart)});
  }
}

// The containers that may run now, as far as the order goes.
std::vector<std::size_t> PodLife::InTurn() const {
  std::vector<std::size_t> turn;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const ContainerLife& life = members_[i].life;
    if (life.kind() == Kind::kInit) {
      if (life.succeeded()) continue;
      turn.push_back(i);
      return turn;
    }
    turn.push_back(i);
    // A sidecar that is not up yet delays what follows it only until the init containers are done;
    // a later restart delays nothing.
    if (life.kind() == Kind::kSidecar && !initialized_ && !life.running()) return turn;
  }
  return turn;
}

std::vector<PodLife::Action> PodLife::Decide(Time now) {
  // First: when the Pod ends, a sidecar that waits for its restart need not start.
  if (!ending_ && (InitFailed() || Completed())) BeginEnd(now + grace_);
  if (ending_) return DecideEnd(now);
  std::vector<Action> actions;
  for (const std::size_t i : InTurn()) {
    const ContainerLife& life = members_[i].life;
    initialized_ = initialized_ || life.kind() == Kind::kMain;
    if (life.start_at() <= now) actions.push_back({Action::Kind::kStart, i});
  }
  return actions;
}

std::vector<PodLife::Action> PodLife::DecideEnd(Time now) {
  std::vector<Action> actions;
  const auto terminate = [&](std::size_t i) {
    if (!members_[i].terminated) actions.push_back({Action::Kind::kTerminate, i});
    members_[i].terminated = true;
  };
  bool sidecars_turn = true;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const ContainerLife& life = members_[i].life;
    if (life.kind() == Kind::kSidecar || !life.running()) continue;
    sidecars_turn = false;
    terminate(i);
  }
  // In the reverse of their order, each when the one after it has ended.
  for (std::size_t i = members_.size(); sidecars_turn && i-- > 0;) {
    if (!members_[i].life.running()) continue;
    sidecars_turn = false;
    terminate(i);
  }
  for (std::size_t i = 0; now >= kill_at_ && i < members_.size(); ++i) {
    if (!members_[i].life.running() || members_[i].killed) continue;
    members_[i].killed = true;
    actions.push_back({Action::Kind::kKill, i});
  }
  return actions;
}

Time PodLife::due() const {
  Time due = Time::max();
  if (!ending_) {
    for (const std::size_t i : InTurn()) due = std::min(due, members_[i].life.start_at());
    return due;
  }
  const bool unkilled = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.life.running() && !member.killed;
  });
  return unkilled ? kill_at_ : due;
}

void PodLife::BeginEnd(Time kill_at) {
  ending_ = true;
  kill_at_ = std::min(kill_at_, kill_at);
}

void PodLife::End(Time kill_at) { BeginEnd(kill_at); }

bool PodLife::anything_runs() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.life.running(); });
}

bool PodLife::InitFailed() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.life.kind() == Kind::kInit && member.life.done() && !member.life.succeeded();
  });
}

bool PodLife::Completed() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.life.kind() != Kind::kMain || member.life.done();
  });
}

std::string_view PodLife::phase() const {
  const auto every_main = [this](auto holds) {
    return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
      return member.life.kind() != Kind::kMain || holds(member.life);
    });
  };
  if ((ending_ || InitFailed() || Completed()) && !anything_runs()) {
    // A container that waited for its restart when the Pod was asked to end counts as ended.
    const bool well = every_main([](const ContainerLife& life) {
      return life.state() == ContainerLife::State::kEnded && life.last_end()->code == 0;
    });
    return well ? "Succeeded" : "Failed";
  }
  return every_main([](const ContainerLife& life) { return life.ever_ran(); }) ? "Running"
                                                                               : "Pending";
}

}  // namespace galen::agent
