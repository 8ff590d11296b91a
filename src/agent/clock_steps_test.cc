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
