#include "base/loop/fake_loop.h"

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace galen {
namespace {

// Far more than any test needs in one call, and reached soon by a task that loops.
constexpr std::size_t kStepsMax = 1'000'000;

}  // namespace

struct FakeLoop::State {
  // By time, then by the order of asking.
  std::map<std::pair<Time, std::uint64_t>, Task> tasks;
  std::uint64_t next = 0;
};

class FakeLoop::FakeEntry final : public Timer::Entry {
 public:
  FakeEntry(std::shared_ptr<State> state, std::pair<Time, std::uint64_t> key)
      : state_(std::move(state)), key_(key) {}
  // The task dies after it has left the map: its captures may hold timers of their own.
  ~FakeEntry() override { auto node = state_->tasks.extract(key_); }

 private:
  std::shared_ptr<State> state_;
  std::pair<Time, std::uint64_t> key_;
};

// A fixed morning, so that printed times are the same in every run.
FakeLoop::FakeLoop()
    : wall_epoch_(std::chrono::seconds(1'795'269'600)), state_(std::make_shared<State>()) {}

FakeLoop::~FakeLoop() {
  // Tasks may own timers and tasks may be owned by what they own: empty in rounds.
  while (!state_->tasks.empty()) auto node = state_->tasks.extract(state_->tasks.begin());
}

void FakeLoop::Post(Task task) {
  state_->tasks.emplace(std::pair(now_, state_->next++), std::move(task));
}

Timer FakeLoop::At(Time when, Task task) {
  const std::pair<Time, std::uint64_t> key(when < now_ ? now_ : when, state_->next++);
  state_->tasks.emplace(key, std::move(task));
  return Timer(std::make_unique<FakeEntry>(state_, key));
}

void FakeLoop::Advance(Duration d) {
  const Time end = now_ + d;
  std::size_t steps = 0;
  while (!state_->tasks.empty() && state_->tasks.begin()->first.first <= end) {
    GALEN_CHECK(++steps < kStepsMax);
    RunFirst();
  }
  now_ = end;
}

bool FakeLoop::Step() {
  if (state_->tasks.empty()) return false;
  RunFirst();
  return true;
}

std::size_t FakeLoop::waiting() const { return state_->tasks.size(); }

void FakeLoop::RunFirst() {
  auto node = state_->tasks.extract(state_->tasks.begin());
  if (node.key().first > now_) now_ = node.key().first;
  node.mapped()();
}

}  // namespace galen
