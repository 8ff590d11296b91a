// The time of one machine or one process in a simulation: a Loop on top of the world's. It can be
// suspended as a laptop is (its monotonic clock stands, the one on the wall goes on), stopped as by
// SIGSTOP (clocks go on, nothing runs), and its clock on the wall can jump. What came due meanwhile
// runs in order once it goes on. The world's loop outlives it; timers may outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/loop/loop.h"

namespace galen::sim {

class NodeLoop final : public Loop {
 public:
  explicit NodeLoop(Loop& world);
  // Tasks that wait are destroyed, not run.
  ~NodeLoop() override;

  Time Now() const override { return asleep_at_.value_or(world_.Now() - slept_); }
  WallTime WallNow() const override { return world_.WallNow() + wall_step_; }
  void Post(Task task) override;
  [[nodiscard]] Timer At(Time when, Task task) override;

  // Until Resume. Harmless when it is so already.
  void Suspend();
  void Stop();
  // Ends both.
  void Resume();
  // Whether nothing runs now.
  bool still() const { return asleep_at_ || stopped_; }
  // Moves the watch on the wall, not the deadlines.
  void StepWallClock(Duration d) {
    wall_step_ += d;
    ++wall_steps_;
  }
  // How often it was.
  int wall_steps() const { return wall_steps_; }

 private:
  struct State;
  class NodeEntry;

  // Asks the world for the turn of the first task, if it has not.
  void Arm();
  void RunDue();

  Loop& world_;
  // Shared with timers only so that one which outlives the loop cancels nothing.
  std::shared_ptr<State> state_;
  Duration slept_{};
  Duration wall_step_{};
  int wall_steps_ = 0;
  std::optional<Time> asleep_at_;
  bool stopped_ = false;
  std::optional<Time> armed_for_;  // of the world; nullopt: not asked
  Timer turn_;
};

}  // namespace galen::sim
