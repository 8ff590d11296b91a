// A Loop whose time moves only when a test says so. One thread; tasks of equal time run in the
// order in which they were given.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "base/loop.h"

namespace galen {

class FakeLoop final : public Loop {
 public:
  FakeLoop();
  ~FakeLoop() override;

  Time Now() const override { return now_; }
  WallTime WallNow() const override { return wall_epoch_ + (now_ - Time{}); }
  void Post(Task task) override;
  [[nodiscard]] Timer At(Time when, Task task) override;

  // Runs everything due within `d`, in order of time, including what those tasks ask for.
  // Fails the process past a million steps, so that a task that posts itself for ever is named.
  void Advance(Duration d);
  void RunUntilIdle() { Advance(Duration::zero()); }

  // Runs the next waiting task, moving time to it; false when nothing waits.
  bool Step();

  // Moves the watch on the wall, not the deadlines.
  void StepWallClock(Duration d) { wall_epoch_ += d; }

  std::size_t waiting() const;

 private:
  struct State;
  class FakeEntry;

  void RunFirst();

  Time now_{};
  WallTime wall_epoch_;
  // Shared with timers only so that one which outlives the loop cancels nothing.
  std::shared_ptr<State> state_;
};

}  // namespace galen
