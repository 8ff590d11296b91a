// A Loop whose time moves only when a test says so. One thread; tasks of equal time run in the
// order in which they were given. A run is the same each time: nothing in here asks a real clock.
// Unlike with the real loop, time stands still while a task runs, and timers may outlive the loop.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "base/loop/loop.h"

namespace galen {

class FakeLoop final : public Loop {
 public:
  // Starts at Time{} and at a fixed wall time in November 2026.
  FakeLoop();
  // Tasks that wait are destroyed, not run.
  ~FakeLoop() override;

  Time Now() const override { return now_; }
  WallTime WallNow() const override { return wall_epoch_ + (now_ - Time{}); }
  void Post(Task task) override;
  [[nodiscard]] Timer At(Time when, Task task) override;

  // Runs everything due within `d`, in order of time, including what those tasks ask for, then sets
  // the time to the end of `d`. Each task sees the time that it was asked for. Fails the process
  // past a million steps, so that a task that posts itself for ever is named.
  void Advance(Duration d);
  // Runs what is due now, not what waits for a later time.
  void RunUntilIdle() { Advance(Duration::zero()); }

  // Runs the next waiting task, moving time to it; false when nothing waits.
  bool Step();

  // Moves the watch on the wall, not the deadlines.
  void StepWallClock(Duration d) { wall_epoch_ += d; }

  // Tasks that are posted or wait for their time; zero means that nothing will ever happen again.
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
