#include "tests/sim/node_loop.h"

namespace galen::sim {

struct NodeLoop::State {
  // By its own time, then by the order of asking.
  std::map<std::pair<Time, std::uint64_t>, Task> tasks;
  std::uint64_t next = 0;
};

class NodeLoop::NodeEntry final : public Timer::Entry {
 public:
  NodeEntry(std::shared_ptr<State> state, std::pair<Time, std::uint64_t> key)
      : state_(std::move(state)), key_(key) {}
  // The task dies after it has left the map: its captures may hold timers of their own.
  ~NodeEntry() override { auto node = state_->tasks.extract(key_); }

 private:
  // Shared because a timer may outlive the loop.
  std::shared_ptr<State> state_;
  std::pair<Time, std::uint64_t> key_;
};

NodeLoop::NodeLoop(Loop& world) : world_(world), state_(std::make_shared<State>()) {}

NodeLoop::~NodeLoop() {
  turn_.Cancel();
  while (!state_->tasks.empty()) auto node = state_->tasks.extract(state_->tasks.begin());
}

void NodeLoop::Post(Task task) {
  state_->tasks.emplace(std::pair(Now(), state_->next++), std::move(task));
  Arm();
}

Timer NodeLoop::At(Time when, Task task) {
  const std::pair<Time, std::uint64_t> key(when < Now() ? Now() : when, state_->next++);
  state_->tasks.emplace(key, std::move(task));
  Arm();
  return Timer(std::make_unique<NodeEntry>(state_, key));
}

void NodeLoop::Suspend() {
  if (asleep_at_) return;
  asleep_at_ = Now();
  Arm();
}

void NodeLoop::Stop() {
  stopped_ = true;
  Arm();
}

void NodeLoop::Resume() {
  if (asleep_at_) {
    slept_ = world_.Now() - *asleep_at_;
    asleep_at_.reset();
  }
  stopped_ = false;
  armed_for_.reset();
  Arm();
}

void NodeLoop::Arm() {
  if (still() || state_->tasks.empty()) {
    armed_for_.reset();
    return turn_.Cancel();
  }
  const Time first = state_->tasks.begin()->first.first;
  // Never: what is asked for the end of time.
  const Time when = first > Time::max() - slept_ ? Time::max() : first + slept_;
  // A turn that comes too early finds nothing due and asks again: cheaper than to cancel it.
  if (armed_for_ && *armed_for_ <= when) return;
  armed_for_ = when;
  turn_ = world_.At(when, [this] { RunDue(); });
}

void NodeLoop::RunDue() {
  armed_for_.reset();
  auto& tasks = state_->tasks;
  if (tasks.empty() || tasks.begin()->first.first > Now()) return Arm();
  auto node = tasks.extract(tasks.begin());
  // One a turn, so that other machines' tasks of the same time come between, as they would without
  // this loop.
  Arm();
  node.mapped()();
}

}  // namespace galen::sim
