#include "tests/sim/node_loop.h"

#include <gtest/gtest.h>

#include <string>

#include "base/loop/fake_loop.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

TEST(NodeLoop, RunsTasksInOrderOfTheirTimeAsTheWorldPasses) {
  FakeLoop world;
  NodeLoop loop(world);
  std::string ran;
  const Timer later = loop.After(2s, [&] { ran += "2"; });
  const Timer sooner = loop.After(1s, [&] { ran += "1"; });
  loop.Post([&] { ran += "0"; });
  world.RunUntilIdle();
  EXPECT_EQ(ran, "0");
  world.Advance(3s);
  EXPECT_EQ(ran, "012");
}

TEST(NodeLoop, ATimerThatIsCancelledDoesNotRun) {
  FakeLoop world;
  NodeLoop loop(world);
  bool ran = false;
  Timer timer = loop.After(1s, [&] { ran = true; });
  timer.Cancel();
  world.Advance(2s);
  EXPECT_FALSE(ran);
}

TEST(NodeLoop, SuspendedStandsWhileTheClockOnTheWallGoesOn) {
  FakeLoop world;
  NodeLoop loop(world);
  const Time before = loop.Now();
  const WallTime wall = loop.WallNow();
  bool ran = false;
  const Timer timer = loop.After(5s, [&] { ran = true; });
  loop.Suspend();
  world.Advance(60s);
  EXPECT_TRUE(loop.still());
  EXPECT_EQ(loop.Now(), before);
  loop.Resume();
  EXPECT_EQ(loop.WallNow() - wall, 60s);
  world.Advance(4s);
  EXPECT_FALSE(ran) << "what it slept through does not count";
  world.Advance(1s);
  EXPECT_TRUE(ran);
}

TEST(NodeLoop, StoppedMissesItsDeadlinesAndRunsThemAtOnceWhenItGoesOn) {
  FakeLoop world;
  NodeLoop loop(world);
  const Time before = loop.Now();
  bool ran = false;
  const Timer timer = loop.After(5s, [&] { ran = true; });
  loop.Stop();
  world.Advance(60s);
  EXPECT_FALSE(ran);
  loop.Resume();
  world.RunUntilIdle();
  EXPECT_TRUE(ran);
  EXPECT_EQ(loop.Now() - before, 60s);
}

TEST(NodeLoop, TheClockOnTheWallJumpsAndNoDeadlineMoves) {
  FakeLoop world;
  NodeLoop loop(world);
  const WallTime wall = loop.WallNow();
  bool ran = false;
  const Timer timer = loop.After(5s, [&] { ran = true; });
  loop.StepWallClock(-1h);
  EXPECT_EQ(loop.WallNow() - wall, -1h);
  world.Advance(5s);
  EXPECT_TRUE(ran);
}

TEST(NodeLoop, ATimerMayOutliveIt) {
  FakeLoop world;
  Timer timer;
  {
    NodeLoop loop(world);
    timer = loop.After(1s, [] { FAIL() << "its loop is gone"; });
  }
  world.Advance(2s);
}

}  // namespace
}  // namespace galen::sim
