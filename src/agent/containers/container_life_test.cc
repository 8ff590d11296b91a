#include "agent/containers/container_life.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using LifeKind = ContainerLife::Kind;

const RunEnd kFailed{.code = 3, .reason = "Error"};
const RunEnd kDone{.code = 0, .reason = "Completed"};

// Starts when it may, fails after `ran`, and gives the wait that follows.
Duration WaitAfter(ContainerLife& life, Time& now, Duration ran) {
  now = std::max(now, life.start_at());
  life.OnStarted(now, {});
  now += ran;
  life.OnEnded(kFailed, now);
  return life.start_at() - now;
}

TEST(ContainerLife, IsRestartedAtOnceThenAfterTenSecondsDoublingToFiveMinutes) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  Time now{};
  for (const Duration wait : {0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    EXPECT_EQ(WaitAfter(life, now, 1s), wait);
  }
  EXPECT_EQ(life.restarts(), 7) << "the first start is none";
}

TEST(ContainerLife, ForgetsItsCrashesAfterARunOfMoreThanTenMinutes) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  Time now{};
  for (int i = 0; i < 5; ++i) WaitAfter(life, now, 1s);
  EXPECT_EQ(WaitAfter(life, now, 10min), 160s);
  EXPECT_EQ(WaitAfter(life, now, 10min + 1s), 0s);
  EXPECT_EQ(WaitAfter(life, now, 1s), 10s);
}

TEST(ContainerLife, OfPolicyAlwaysIsRestartedAfterSuccessToo) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  life.OnStarted(Time{}, {});
  life.OnEnded(kDone, Time{} + 1s);
  EXPECT_TRUE(life.restarts_again());
  EXPECT_FALSE(life.done());
}

TEST(ContainerLife, OfPolicyOnFailureEndsWithSuccess) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kOnFailure);
  life.OnStarted(Time{}, {});
  life.OnEnded(kFailed, Time{} + 1s);
  EXPECT_EQ(life.start_at(), Time{} + 1s);
  life.OnStarted(Time{} + 1s, {});
  life.OnEnded(kDone, Time{} + 2s);
  EXPECT_TRUE(life.succeeded());
  EXPECT_EQ(life.start_at(), Time::max());
  EXPECT_EQ(life.end_before(), kFailed);
}

TEST(ContainerLife, OfPolicyNeverRunsOnce) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kNever);
  life.OnStarted(Time{}, {});
  life.OnEnded(kFailed, Time{});
  EXPECT_TRUE(life.done());
  EXPECT_FALSE(life.succeeded());
}

TEST(ContainerLife, ThatInitializesIsThereToSucceedOnce) {
  ContainerLife life(LifeKind::kInit, RestartPolicy::kAlways);
  life.OnStarted(Time{}, {});
  life.OnEnded(kFailed, Time{});
  EXPECT_TRUE(life.restarts_again());
  life.OnStarted(Time{}, {});
  life.OnEnded(kDone, Time{});
  EXPECT_TRUE(life.succeeded());
}

TEST(ContainerLife, OfASidecarKnowsNoPolicyButAlways) {
  ContainerLife life(LifeKind::kSidecar, RestartPolicy::kNever);
  life.OnStarted(Time{}, {});
  life.OnEnded(kDone, Time{});
  EXPECT_TRUE(life.restarts_again());
}

TEST(ContainerLife, GoesOnWhereAnAgentBeforeLeftIt) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  life.Restore(4, kFailed, Time{} + 5s);
  EXPECT_EQ(life.start_at(), Time{} + 5s);
  life.OnStarted(Time{} + 5s, {});
  EXPECT_EQ(life.restarts(), 5);
  ContainerLife over(LifeKind::kMain, RestartPolicy::kNever);
  over.Restore(0, kDone, Time{});
  EXPECT_TRUE(over.succeeded());
}

TEST(ContainerLife, ThatCannotBeTriedIsNoRestart) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  life.OnUnable("CreateContainerConfigError", "no CDI file", Time{} + 10s);
  EXPECT_EQ(life.start_at(), Time{} + 10s);
  EXPECT_FALSE(life.ever_ran());
  life.OnStarted(Time{} + 10s, {});
  EXPECT_EQ(life.restarts(), 0);
  EXPECT_EQ(life.hindrance(), "");
}

}  // namespace
}  // namespace galen::agent
