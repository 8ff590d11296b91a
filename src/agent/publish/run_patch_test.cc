#include "agent/publish/run_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/yaml.h"

namespace galen::agent {
namespace {

const WallTime kRunTime = ParseRfc3339("2026-11-22T10:00:00Z").value();

Json RanSo(const std::string& phase, int restarts) {
  Json run = ParseYaml(R"(
conditions:
- {type: Ready, status: "False", reason: ContainersNotReady, message: "not ready: main"}
containerStatuses:
- {name: main, image: m, restartCount: 0, ready: false, state: {waiting: {reason: CrashLoopBackOff}},
   lastState: {terminated: {exitCode: 3, finishedAt: "2026-11-22T09:59:00Z"}}}
initContainerStatuses: []
)")
                 .value();
  run["phase"] = phase;
  run["containerStatuses"].MutableItems()[0]["restartCount"] = restarts;
  return run;
}

Json Object() {
  return ParseYaml(R"(
metadata: {name: job, namespace: train, uid: u-1, resourceVersion: "7"}
spec: {containers: [{name: main, image: m}]}
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "True"}]
)")
      .value();
}

// The object with the patch's status in it: conditions merge by type, lists are replaced.
Json Apply(Json object, const Json& patch) {
  for (const auto& [name, value] : patch["status"].members()) {
    if (name != "conditions") object["status"][name] = value;
  }
  for (const Json& condition : patch["status"]["conditions"].items()) {
    auto& list = object["status"]["conditions"].MutableItems();
    std::erase_if(list, [&](const Json& old) { return old["type"] == condition["type"]; });
    list.push_back(condition);
  }
  return object;
}

kube::Pod DecodedPod(const Json& object) { return kube::DecodePod(object).value(); }

TEST(RunPatch, WritesWhatBecameOfTheContainersOnce) {
  const Json run = RanSo("Running", 1);
  EXPECT_FALSE(SaysRun(DecodedPod(Object()), run));
  const std::optional<Json> patch = RunPatch(Object(), std::nullopt, run, kRunTime);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"]["uid"].AsString(), "u-1");
  EXPECT_EQ((*patch)["metadata"]["resourceVersion"].AsString(), "7");
  EXPECT_EQ((*patch)["status"]["phase"].AsString(), "Running");
  EXPECT_EQ((*patch)["status"]["startTime"].AsString(), "2026-11-22T10:00:00Z");
  const Json after = Apply(Object(), *patch);
  EXPECT_TRUE(SaysRun(DecodedPod(after), run));
  EXPECT_EQ(RunPatch(after, std::nullopt, run, kRunTime), std::nullopt);
}

TEST(RunPatch, SeesARestartThatChangesNothingElse) {
  const Json before =
      Apply(Object(), *RunPatch(Object(), std::nullopt, RanSo("Running", 1), kRunTime));
  EXPECT_FALSE(SaysRun(DecodedPod(before), RanSo("Running", 2)));
  const auto patch = RunPatch(before, std::nullopt, RanSo("Running", 2), kRunTime);
  ASSERT_TRUE(patch);
  EXPECT_FALSE((*patch)["status"].Has("conditions")) << "that a state lasts is no news";
  EXPECT_EQ((*patch)["status"]["containerStatuses"][0]["restartCount"].AsInt(), 2);
}

TEST(RunPatch, KeepsAndTellsTheContainersDevices) {
  const WantedPodStatus wanted{
      .annotation = "gpu-0 Healthy",
      .condition = {"True", "AllHealthy", ""},
      .main = {{"main", {{.name = "claim:gpu", .resources = {{"gpu-0", "Healthy", ""}}}}}},
      .init = {}};
  const auto patch = RunPatch(Object(), wanted, RanSo("Running", 1), kRunTime);
  ASSERT_TRUE(patch);
  const Json after = Apply(Object(), *patch);
  const Json& status = after["status"]["containerStatuses"][0];
  EXPECT_EQ(status["restartCount"].AsInt(), 1);
  EXPECT_EQ(status["allocatedResourcesStatus"][0]["resources"][0]["health"].AsString(), "Healthy");
  const auto again = RunPatch(after, wanted, RanSo("Running", 2), kRunTime);
  ASSERT_TRUE(again);
  EXPECT_TRUE((*again)["status"]["containerStatuses"][0].Has("allocatedResourcesStatus"));
}

TEST(RunPatch, APodThatHasEndedKeepsWhatItSays) {
  Json ended = Object();
  ended["status"]["phase"] = "Failed";
  EXPECT_EQ(RunPatch(ended, std::nullopt, RanSo("Running", 1), kRunTime), std::nullopt);
}

}  // namespace
}  // namespace galen::agent
