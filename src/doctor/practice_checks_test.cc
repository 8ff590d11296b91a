// The checks of practice_checks.cc, each finding one thing that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

PodSeen& Workload(Observations& seen) { return (*seen.api.pods)[0]; }
PodSeen& DriverPod(Observations& seen) { return (*seen.api.pods)[1]; }
DaemonSetSeen& DriverSet(Observations& seen) { return *seen.api.daemon_sets["gpu/driver"]; }

const std::vector<Flaw>& PodFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"practices.starts warning"},
       "train/trainer-0 is older than the kubelet, which was started 40s ago",
       [](Observations& s) { s.kubelet.process->started = s.when - 40s; }},
      {{"practices.starts warning"},
       "is older than the containerd, which was started 30s ago",
       [](Observations& s) { s.host.runtime->started = s.when - 30s; }},
      {{"practices.priority warning"},
       "gpu/driver-x2c4 has priority 1000",
       [](Observations& s) { DriverPod(s).priority = 1000; }},
      {{"practices.requests warning"},
       "gpu/driver-x2c4 requests no CPU or no memory for driver; sidecar",
       [](Observations& s) { DriverPod(s).without_requests = {"driver", "sidecar"}; }},
      {{"practices.tolerations warning"},
       "train/trainer-0 tolerates node.kubernetes.io/not-ready for 0.0 s",
       [](Observations& s) { Workload(s).tolerations.clear(); }},
      {{"practices.tolerations warning"},
       "tolerates node.kubernetes.io/unreachable for 30s",
       [](Observations& s) { Workload(s).tolerations[1].lasts = 30s; }},
      {{"practices.grace warning"},
       "train/trainer-0 may take 60m to end",
       [](Observations& s) { Workload(s).grace = 1h; }},
      {{"practices.installers warning"},
       "gpu/driver-x2c4 is not installed, init container build: CrashLoopBackOff",
       [](Observations& s) {
         DriverPod(s).pod.init_statuses = {{.name = "build", .reason = "CrashLoopBackOff"}};
       }},
      {{"practices.installers warning"},
       "does not run, container driver: ImagePullBackOff",
       [](Observations& s) {
         DriverPod(s).pod.statuses = {{.name = "driver", .reason = "ImagePullBackOff"}};
       }},
      {{"practices.installers warning"},
       "has been Pending for 20m",
       [](Observations& s) {
         DriverPod(s).pod.phase = "Pending";
         DriverPod(s).pod.meta.created = s.when - 20min;
       }},
  };
  return kFlaws;
}

const std::vector<Flaw>& NodeFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"practices.pressure warning"},
       "all of it 25 % for memory",
       [](Observations& s) { s.host.pressure->memory = 25; }},
      {{"practices.pressure warning"},
       "waited 92 % of the time for a CPU",
       [](Observations& s) { s.host.pressure->cpu = 92; }},
      {{"practices.rollout warning"},
       "gpu/driver has its present version on 3 of 8 nodes",
       [](Observations& s) { DriverSet(s).updated = 3; }},
      {{"practices.care warning"},
       "gpu/driver replaces its Pods on 100% of 8 nodes at once",
       [](Observations& s) { DriverSet(s).at_once = "100%"; }},
      {{"practices.care warning"},
       "replaces its Pods on 2 of 8 nodes",
       [](Observations& s) { DriverSet(s).at_once = "2"; }},
  };
  return kFlaws;
}

TEST(PracticeChecks, EachFindsWhatItIsFor) {
  std::vector<Flaw> all = PodFlaws();
  all.insert(all.end(), NodeFlaws().begin(), NodeFlaws().end());
  ExpectEachIsFound(all, PracticeChecks());
}

TEST(PracticeChecks, ATolerationOfEverythingCountsAndOneOfAnotherEffectDoesNot) {
  Observations seen = GoodObservations();
  Workload(seen).tolerations = {{.key = "", .effect = "", .lasts = std::nullopt}};
  EXPECT_EQ(ResultOf(seen, "practices.tolerations").level, Level::kGood);
  Workload(seen).tolerations = {{.key = "", .effect = "NoSchedule", .lasts = std::nullopt}};
  EXPECT_EQ(ResultOf(seen, "practices.tolerations").level, Level::kWarning);
}

TEST(PracticeChecks, OnlyPodsThatHoldDevicesAreAskedToEndSoonAndOnlyDriversForAPriority) {
  Observations seen = GoodObservations();
  Workload(seen).pod.claims.clear();
  Workload(seen).grace = 1h;
  Workload(seen).priority = 0;
  EXPECT_EQ(ResultOf(seen, "practices.grace").level, Level::kGood);
  EXPECT_EQ(ResultOf(seen, "practices.priority").level, Level::kGood);
}

TEST(PracticeChecks, APodThatEndedDoesNotMindARestart) {
  Observations seen = GoodObservations();
  seen.kubelet.process->started = seen.when - 40s;
  Workload(seen).pod.phase = "Succeeded";
  EXPECT_EQ(ResultOf(seen, "practices.starts").level, Level::kGood);
}

TEST(PracticeChecks, AnInstallerMayTakeAWhileAndContainersThatStartAreNotStuck) {
  Observations seen = GoodObservations();
  DriverPod(seen).pod.phase = "Pending";
  DriverPod(seen).pod.meta.created = seen.when - 5min;
  DriverPod(seen).pod.statuses = {{.name = "driver", .reason = "PodInitializing"}};
  EXPECT_EQ(ResultOf(seen, "practices.installers").level, Level::kGood);
}

TEST(PracticeChecks, ATenthOfTheNodesAndReplacementByHandAreCareful) {
  Observations seen = GoodObservations();
  DriverSet(seen) = {.at_once = "2", .nodes = 20, .updated = 20};
  EXPECT_EQ(ResultOf(seen, "practices.care").level, Level::kGood);
  DriverSet(seen).at_once = "10%";
  EXPECT_EQ(ResultOf(seen, "practices.care").level, Level::kGood);
  DriverSet(seen) = {.by_hand = true, .at_once = "100%", .nodes = 20, .updated = 20};
  EXPECT_EQ(ResultOf(seen, "practices.care").level, Level::kGood);
}

TEST(PracticeChecks, WhatMayNotBeReadIsUnknownButNoExcuseForWhatIsSeen) {
  Observations seen = GoodObservations();
  seen.api.daemon_sets["a/agent"] = PermissionDenied("missing right: get daemonsets");
  EXPECT_EQ(ResultOf(seen, "practices.rollout").level, Level::kUnknown);
  EXPECT_THAT(ResultOf(seen, "practices.care").seen, HasSubstr("missing right"));
  DriverSet(seen).updated = 0;
  EXPECT_EQ(ResultOf(seen, "practices.rollout").level, Level::kWarning);
  seen.kubelet.process->started = NotFound("no stat");
  EXPECT_EQ(ResultOf(seen, "practices.starts").level, Level::kUnknown);
  seen.host.pressure = NotFound("no pressure");
  EXPECT_EQ(ResultOf(seen, "practices.pressure").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
