#include "agent/manager/run_status.h"

#include <gtest/gtest.h>

#include "base/data/yaml.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

const WallTime kWall = ParseRfc3339("2026-11-22T10:00:00Z").value();

PodPlan Plan(RestartPolicy policy, bool with_init = false) {
  PodPlan plan{.ref = {{"default", "job"}, "u-1"}, .restart = policy, .containers = {}};
  if (with_init) {
    plan.containers.push_back(
        {.name = "prepare", .image = "p:1", .kind = kube::Container::Kind::kInit, .command = {}});
  }
  plan.containers.push_back({.name = "main", .image = "m:1", .command = {}});
  return plan;
}

RunEnd Failed(int code) {
  return {.code = code,
          .signal = code > 128 ? std::optional(code - 128) : std::nullopt,
          .reason = "Error",
          .message = "no such file",
          .started = kWall,
          .finished = kWall + 1s};
}

std::string Condition(const Json& status, const std::string& type) {
  for (const Json& condition : status["conditions"].items()) {
    if (condition["type"].AsString() != type) continue;
    return condition["status"].AsString() + " " + condition["reason"].AsString() + " " +
           condition["message"].AsString();
  }
  return "";
}

TEST(RunStatus, OfAContainerThatRunsIsReady) {
  const PodPlan plan = Plan(RestartPolicy::kAlways);
  PodLife life(plan);
  life.Decide(Time{});
  life.container(0).OnStarted(Time{}, kWall);
  const Json status = RunStatusOf(plan, life);
  EXPECT_EQ(status["phase"].AsString(), "Running");
  const Json& main = status["containerStatuses"][0];
  EXPECT_EQ(main["state"]["running"]["startedAt"].AsString(), "2026-11-22T10:00:00Z");
  EXPECT_TRUE(main["ready"].AsBool());
  EXPECT_TRUE(main["started"].AsBool());
  EXPECT_EQ(main["containerID"].AsString(), "galen://u-1/main/0");
  EXPECT_EQ(Condition(status, "Ready"), "True  ");
  EXPECT_EQ(Condition(status, "Initialized"), "True  ");
}

TEST(RunStatus, OfACrashLoopHasTheLastEndAndTheCount) {
  const PodPlan plan = Plan(RestartPolicy::kAlways);
  PodLife life(plan);
  life.Decide(Time{});
  for (int i = 0; i < 2; ++i) {
    life.container(0).OnStarted(Time{}, kWall);
    life.container(0).OnEnded(Failed(3), Time{} + 1s);
  }
  const Json status = RunStatusOf(plan, life);
  const Json& main = status["containerStatuses"][0];
  EXPECT_EQ(main["state"]["waiting"]["reason"].AsString(), "CrashLoopBackOff");
  EXPECT_EQ(main["state"]["waiting"]["message"].AsString(),
            "container main ended with exit code 3, restart 2 comes after 10 s");
  EXPECT_EQ(main["lastState"]["terminated"]["exitCode"].AsInt(), 3);
  EXPECT_EQ(main["lastState"]["terminated"]["message"].AsString(), "no such file");
  EXPECT_EQ(main["lastState"]["terminated"]["containerID"].AsString(), "galen://u-1/main/1");
  EXPECT_EQ(main["restartCount"].AsInt(), 1);
  EXPECT_FALSE(main["ready"].AsBool());
  EXPECT_EQ(status["phase"].AsString(), "Running");
  EXPECT_EQ(Condition(status, "Ready"), "False ContainersNotReady not ready: main");
}

TEST(RunStatus, OfAnEndForGoodHasCodeAndSignal) {
  const PodPlan plan = Plan(RestartPolicy::kNever);
  PodLife life(plan);
  life.Decide(Time{});
  life.container(0).OnStarted(Time{}, kWall);
  life.container(0).OnEnded(Failed(139), Time{});
  const Json status = RunStatusOf(plan, life);
  const Json& ended = status["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"].AsInt(), 139);
  EXPECT_EQ(ended["signal"].AsInt(), 11);
  EXPECT_EQ(ended["reason"].AsString(), "Error");
  EXPECT_TRUE(status["containerStatuses"][0]["lastState"].members().empty());
  EXPECT_EQ(status["phase"].AsString(), "Failed");
  EXPECT_EQ(Condition(status, "ContainersReady"), "False PodFailed ");
}

TEST(RunStatus, OfAPodThatInitializesNamesWhatItWaitsFor) {
  const PodPlan plan = Plan(RestartPolicy::kAlways, true);
  PodLife life(plan);
  life.container(0).OnStarted(Time{}, kWall);
  const Json status = RunStatusOf(plan, life);
  EXPECT_EQ(status["phase"].AsString(), "Pending");
  EXPECT_EQ(status["containerStatuses"][0]["state"]["waiting"]["reason"].AsString(),
            "PodInitializing");
  EXPECT_EQ(Condition(status, "Initialized"),
            "False ContainersNotInitialized not initialized: prepare");
}

TEST(RunStatus, SaysWhyAContainerCannotBeTried) {
  const PodPlan plan = Plan(RestartPolicy::kAlways);
  PodLife life(plan);
  life.container(0).OnUnable("CreateContainerConfigError", "no command", Time::max());
  const Json status = RunStatusOf(plan, life);
  const Json& waiting = status["containerStatuses"][0]["state"]["waiting"];
  EXPECT_EQ(waiting["reason"].AsString(), "CreateContainerConfigError");
  EXPECT_EQ(waiting["message"].AsString(), "no command");
}

TEST(RunStatus, RestoresWhatItSaysAndTakesWhatRanForEnded) {
  const PodPlan plan = Plan(RestartPolicy::kAlways, true);
  const Json before = ParseYaml(R"(
initContainerStatuses:
- {name: prepare, restartCount: 1, state: {terminated: {exitCode: 0, reason: Completed}}}
containerStatuses:
- {name: main, restartCount: 4, state: {running: {startedAt: "2026-11-22T09:00:00Z"}}}
)")
                          .value();
  PodLife life(plan);
  RestoreLife(plan, before, Time{}, kWall, life);
  EXPECT_TRUE(life.container(0).succeeded()) << "what is initialized stays so";
  ASSERT_TRUE(life.container(1).last_end());
  EXPECT_EQ(life.container(1).last_end()->reason, "ContainerStatusUnknown");
  EXPECT_EQ(life.container(1).last_end()->code, 137);
  EXPECT_EQ(life.Decide(Time{}),
            (std::vector<PodLife::Action>{{PodLife::Action::Kind::kStart, 1}}));
  life.container(1).OnStarted(Time{}, kWall);
  EXPECT_EQ(RunStatusOf(plan, life)["containerStatuses"][0]["restartCount"].AsInt(), 5);
}

}  // namespace
}  // namespace galen::agent
