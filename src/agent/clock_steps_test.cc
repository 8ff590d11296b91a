#include "agent/clock_steps.h"

#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

class ClockStepsTest : public ::testing::Test {
 protected:
  Duration After(Duration step) {
    loop_.StepWallClock(step);
    loop_.Advance(1min);
    steps_.Look();
    return steps_.set_back();
  }

  FakeLoop loop_;
  ClockSteps steps_{loop_};
};

// A loop whose thread loses its CPU for a while after it has read the monotonic clock.
class BusyLoop final : public Loop {
 public:
  Time Now() const override {
    const Time read = now_;
    if (pauses_ > 0) {
      --pauses_;
      now_ += 150ms;
    }
    return read;
  }
  WallTime WallNow() const override { return WallTime(now_ - Time{}) - set_back_; }
  void Post(Task) override {}
  [[nodiscard]] Timer At(Time, Task) override { return {}; }

  // After each of the next readings of the monotonic clock the thread has no CPU for 150 ms.
  void PauseAfter(int readings) { pauses_ = readings; }
  void SetBack(Duration by) { set_back_ += by; }

 private:
  mutable Time now_{1h};
  mutable int pauses_ = 0;
  Duration set_back_{};
};

TEST(ClockStepsOnABusyMachine, APauseBetweenTheTwoClocksIsNoStep) {
  BusyLoop loop;
  ClockSteps steps(loop);
  loop.PauseAfter(1);
  steps.Look();  // an uneven reading would put the clock on the wall 150 ms further ahead
  steps.Look();
  EXPECT_EQ(steps.set_back(), 0s);
}

TEST(ClockStepsOnABusyMachine, AStepThatIsHiddenIsSeenLater) {
  BusyLoop loop;
  loop.PauseAfter(1000);  // not even the first reading counts
  ClockSteps steps(loop);
  steps.Look();
  loop.PauseAfter(0);
  steps.Look();
  loop.SetBack(3min);
  loop.PauseAfter(1000);
  steps.Look();
  EXPECT_EQ(steps.set_back(), 0s);
  loop.PauseAfter(0);
  steps.Look();
  EXPECT_EQ(steps.set_back(), 3min);
}

TEST_F(ClockStepsTest, TimeThatPassesIsNoStep) { EXPECT_EQ(After(0s), 0s); }

TEST_F(ClockStepsTest, StepsBackAddUpAndStepsForwardTakeNothingOff) {
  EXPECT_EQ(After(-3min), 3min);
  EXPECT_EQ(After(2min), 3min);
  EXPECT_EQ(After(-30s), 3min + 30s);
}

TEST_F(ClockStepsTest, ReadingTheClocksUnevenlyIsNoStep) {
  for (int i = 0; i < 100; ++i) {
    After(-50ms);
    EXPECT_EQ(After(50ms), 0s);
  }
}

}  // namespace
}  // namespace galen::agent
