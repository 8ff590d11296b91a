#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/nodes/simulated_nodes.h"

namespace galen::cluster_sim {
namespace {

const WallTime kNow{std::chrono::seconds(1'000'000)};
const WallTime kLater = kNow + std::chrono::seconds(5);

// `pod` after `patch`: these patches replace whole lists, but for conditions.
Json Patched(Json pod, const Json& patch) {
  for (const auto& [field, value] : patch["status"].members()) pod["status"][field] = value;
  return pod;
}

Json Running(const Json& pod) {
  return Patched(pod,
                 RunningPatch(pod, {.host_ip = "10.64.0.1", .pod_ip = "10.128.0.1", .now = kNow}));
}

const Json& Main(const Json& pod) { return pod["status"]["containerStatuses"][std::size_t{0}]; }

std::string Condition(const Json& pod, const char* type) {
  return api_sim::FindCondition(pod["status"]["conditions"], type)["status"].AsString();
}

TEST(HollowPod, RunsAllItsContainersAndIsReady) {
  const Json pod = Running(api_sim::FakePod("a"));
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Running");
  EXPECT_EQ(pod["status"]["podIP"].AsString(), "10.128.0.1");
  EXPECT_EQ(Main(pod)["state"]["running"]["startedAt"].AsString(), FormatRfc3339(kNow));
  EXPECT_TRUE(Main(pod)["ready"].AsBool());
  EXPECT_EQ(Condition(pod, "Ready"), "True");
}

TEST(HollowPod, InitContainersAreThroughAndSidecarsRun) {
  Json pod = api_sim::FakePod("a");
  pod["spec"]["initContainers"] =
      api_sim::Yaml("[{name: setup}, {name: proxy, restartPolicy: Always}]");
  const Json running = Running(pod);
  const Json& init = running["status"]["initContainerStatuses"];
  EXPECT_EQ(init[std::size_t{0}]["state"]["terminated"]["exitCode"].AsInt(-1), 0);
  EXPECT_FALSE(init[std::size_t{1}]["state"]["running"].is_null());
}

TEST(HollowPod, ACrashedContainerRunsAgainAndRemembersHowItEnded) {
  const Json pod = Running(api_sim::FakePod("a"));
  const Json after = Patched(pod, CrashPatch(pod, "main", 134, kLater).value());
  EXPECT_EQ(after["status"]["phase"].AsString(), "Running");
  EXPECT_EQ(Main(after)["restartCount"].AsInt(), 1);
  EXPECT_FALSE(Main(after)["state"]["running"].is_null());
  const Json& ended = Main(after)["lastState"]["terminated"];
  EXPECT_EQ(ended["exitCode"].AsInt(), 134);
  EXPECT_EQ(ended["signal"].AsInt(), 6);
  EXPECT_EQ(ended["finishedAt"].AsString(), FormatRfc3339(kLater));
  EXPECT_NE(Main(after)["containerID"], Main(pod)["containerID"]);
}

TEST(HollowPod, WithRestartPolicyNeverACrashFailsThePod) {
  Json spec = api_sim::FakePod("a");
  spec["spec"]["restartPolicy"] = "Never";
  const Json pod = Running(spec);
  const Json after = Patched(pod, CrashPatch(pod, "main", 1, kLater).value());
  EXPECT_EQ(after["status"]["phase"].AsString(), "Failed");
  EXPECT_EQ(Main(after)["state"]["terminated"]["exitCode"].AsInt(), 1);
  EXPECT_EQ(Condition(after, "Ready"), "False");
}

TEST(HollowPod, WithRestartPolicyOnFailureExitCodeZeroEndsItWell) {
  Json spec = api_sim::FakePod("a");
  spec["spec"]["restartPolicy"] = "OnFailure";
  const Json pod = Running(spec);
  EXPECT_EQ(Patched(pod, CrashPatch(pod, "main", 0, kLater).value())["status"]["phase"].AsString(),
            "Succeeded");
  EXPECT_EQ(Patched(pod, CrashPatch(pod, "main", 1, kLater).value())["status"]["phase"].AsString(),
            "Running");
}

TEST(HollowPod, APodRunsOnWhileOneContainerDoes) {
  Json spec = api_sim::FakePod("a");
  spec["spec"]["restartPolicy"] = "Never";
  spec["spec"]["containers"].Append(api_sim::Yaml("{name: other, image: pause}"));
  const Json pod = Running(spec);
  const Json once = Patched(pod, CrashPatch(pod, "main", 1, kLater).value());
  EXPECT_EQ(once["status"]["phase"].AsString(), "Running");
  EXPECT_EQ(Condition(once, "Ready"), "False");
  const Json twice = Patched(once, CrashPatch(once, "other", 0, kLater).value());
  EXPECT_EQ(twice["status"]["phase"].AsString(), "Failed");
}

TEST(HollowPod, WhatDoesNotRunCannotCrash) {
  const Json pod = Running(api_sim::FakePod("a"));
  EXPECT_EQ(CrashPatch(pod, "nobody", 1, kLater).status().code(), Code::kNotFound);
  EXPECT_EQ(CrashPatch(api_sim::FakePod("a"), "main", 1, kLater).status().code(), Code::kNotFound);
}

TEST(HollowPod, PatchesAreForThisPodAndNotItsNamesake) {
  const Json pod = api_sim::FakePod("a");
  EXPECT_EQ(RunningPatch(pod, {})["metadata"]["uid"].AsString(), "uid-default-a");
}

}  // namespace
}  // namespace galen::cluster_sim
