#include "base/loop/fake_loop.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen {
namespace {

using namespace std::chrono_literals;

TEST(FakeLoop, TimeMovesOnlyOnDemand) {
  FakeLoop loop;
  const Time start = loop.Now();
  loop.Post([] {});
  loop.RunUntilIdle();
  EXPECT_EQ(loop.Now(), start);
  loop.Advance(3s);
  EXPECT_EQ(loop.Now(), start + 3s);
}

TEST(FakeLoop, RunsTasksInOrderOfTimeAndThenOfAsking) {
  FakeLoop loop;
  std::string order;
  const Timer late = loop.After(2s, [&] { order += "c"; });
  const Timer early = loop.After(1s, [&] { order += "a"; });
  const Timer also_early = loop.After(1s, [&] { order += "b"; });
  loop.Advance(1s);
  EXPECT_EQ(order, "ab");
  loop.Advance(1s);
  EXPECT_EQ(order, "abc");
}

TEST(FakeLoop, TaskSeesTheTimeItWasAskedFor) {
  FakeLoop loop;
  Time seen{};
  const Time due = loop.Now() + 500ms;
  const Timer timer = loop.At(due, [&] { seen = loop.Now(); });
  loop.Advance(10s);
  EXPECT_EQ(seen, due);
}

TEST(FakeLoop, WhatTasksAskForWithinTheTimeRunsToo) {
  FakeLoop loop;
  std::vector<Timer> timers;
  int ran = 0;
  timers.push_back(loop.After(1s, [&] {
    timers.push_back(loop.After(1s, [&] { ++ran; }));
    timers.push_back(loop.After(5s, [&] { ++ran; }));
  }));
  loop.Advance(2s);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.waiting(), 1u);
}

TEST(FakeLoop, DestroyedTimerDoesNotRun) {
  FakeLoop loop;
  bool ran = false;
  {
    const Timer timer = loop.After(1s, [&] { ran = true; });
    EXPECT_EQ(loop.waiting(), 1u);
  }
  EXPECT_EQ(loop.waiting(), 0u);
  loop.Advance(2s);
  EXPECT_FALSE(ran);
}

TEST(FakeLoop, TaskMayCancelItsOwnTimerAndAnother) {
  FakeLoop loop;
  Timer own;
  bool other_ran = false;
  Timer other = loop.After(2s, [&] { other_ran = true; });
  own = loop.After(1s, [&] {
    own.Cancel();
    other.Cancel();
  });
  loop.Advance(5s);
  EXPECT_FALSE(other_ran);
}

TEST(FakeLoop, TimeInThePastMeansNow) {
  FakeLoop loop;
  loop.Advance(10s);
  bool ran = false;
  const Timer timer = loop.At(loop.Now() - 5s, [&] { ran = true; });
  loop.RunUntilIdle();
  EXPECT_TRUE(ran);
}

TEST(FakeLoop, SteppedWallClockMovesNoDeadline) {
  FakeLoop loop;
  const WallTime before = loop.WallNow();
  int ran = 0;
  const Timer timer = loop.After(1s, [&] { ++ran; });
  loop.StepWallClock(24h);
  EXPECT_EQ(loop.WallNow(), before + 24h);
  loop.Advance(999ms);
  EXPECT_EQ(ran, 0);
  loop.Advance(1ms);
  EXPECT_EQ(ran, 1);
}

TEST(FakeLoop, StepRunsOneTaskAndMovesTimeToIt) {
  FakeLoop loop;
  const Time start = loop.Now();
  const Timer timer = loop.After(7s, [] {});
  EXPECT_TRUE(loop.Step());
  EXPECT_EQ(loop.Now(), start + 7s);
  EXPECT_FALSE(loop.Step());
}

TEST(FakeLoop, TimerMayOutliveTheLoop) {
  Timer timer;
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> left = owned;
  {
    FakeLoop loop;
    timer = loop.After(1s, [owned = std::move(owned)] {});
    EXPECT_FALSE(left.expired());
  }
  EXPECT_TRUE(left.expired());
  timer.Cancel();
}

TEST(FakeLoop, TasksThatOwnTimersDieWithTheLoop) {
  auto owned = std::make_shared<Timer>();
  const std::weak_ptr<Timer> left = owned;
  {
    FakeLoop loop;
    *owned = loop.After(1s, [owned] {});
    loop.Post([owned, inner = loop.After(3s, [] {})] {});
    owned.reset();
    EXPECT_FALSE(left.expired());
  }
  EXPECT_TRUE(left.expired());
}

TEST(FakeLoopDeathTest, NamesATaskThatPostsItselfForEver) {
  FakeLoop loop;
  std::function<void()> again = [&] { loop.Post([&] { again(); }); };
  loop.Post([&] { again(); });
  EXPECT_DEATH(loop.RunUntilIdle(), "kStepsMax");
}

}  // namespace
}  // namespace galen
