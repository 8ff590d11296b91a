#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/publish/pod_publisher.h"
#include "api_sim/patch/patch.h"
#include "base/data/yaml.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow = WallTime(1'795'269'600s);

WantedPodStatus Wanted(const std::string& health = "Unhealthy",
                       const std::string& message = "ECC") {
  return {.annotation = "gpu-0 " + health,
          .condition = {health == "Healthy" ? "True" : "False", "EccUncorrectable", message},
          .main = {{"train", {{"claim:gpu", {{"gpu-0", health, message}}}}}},
          .init = {}};
}

Json Object(const char* status) {
  Json object = ParseYaml(R"({apiVersion: v1, kind: Pod,
    metadata: {name: a, namespace: default, uid: uid-a, resourceVersion: "7"},
    spec: {nodeName: node-1,
           containers: [{name: train, image: x, resources: {claims: [{name: gpu}]}}],
           initContainers: [{name: warm-up, image: y},
                            {name: proxy, image: z, restartPolicy: Always}]}})")
                    .value();
  object["status"] = ParseYaml(status).value();
  return object;
}

kube::Pod Decoded(const Json& object) { return kube::DecodePod(object).value(); }

// What the server has after the patch.
Json Applied(Json object, const Json& patch) {
  EXPECT_TRUE(api_sim::ApplyStrategicPatch(kube::kPods, object, patch).ok());
  return object;
}

const char* kPending = R"({phase: Pending, conditions: [{type: PodScheduled, status: "True"}]})";

TEST(PodPatch, AnObserverWritesAnnotationAndConditionForThisVeryPod) {
  const Json object = Object(kPending);
  const auto patch = FindingsPatch(Decoded(object), Wanted(), kNow);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"]["uid"].AsString(), "uid-a");
  EXPECT_TRUE((*patch)["metadata"]["resourceVersion"].is_null())
      << "nobody else's write is in the way";
  const Json after = Applied(object, *patch);
  EXPECT_EQ(after["status"]["conditions"].items().size(), 2u) << "the others' conditions stay";
  EXPECT_FALSE(FindingsPatch(Decoded(after), Wanted(), kNow + 1h)) << "it says it all";
}

TEST(PodPatch, TheTransitionsTimeMovesOnlyWithTheStatus) {
  const Json first =
      Applied(Object(kPending), *FindingsPatch(Decoded(Object(kPending)), Wanted(), kNow));
  const auto patch = FindingsPatch(Decoded(first), Wanted("Unhealthy", "ECC again"), kNow + 1h);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["status"]["conditions"][0]["lastTransitionTime"].AsString(),
            FormatRfc3339(kNow));
  EXPECT_FALSE((*patch)["status"]["conditions"][0].Has("reason")) << "which is as it was";
  const auto recovered = FindingsPatch(Decoded(first), Wanted("Healthy", ""), kNow + 1h);
  EXPECT_EQ((*recovered)["status"]["conditions"][0]["lastTransitionTime"].AsString(),
            FormatRfc3339(kNow + 1h));
  const Json after = Applied(first, *recovered);
  EXPECT_FALSE(FindingsPatch(Decoded(after), Wanted("Healthy", ""), kNow)) << "the message is gone";
}

TEST(PodPatch, AManagerShowsAPodWhoseClaimsAreReadyAsRunning) {
  const Json object = Object(kPending);
  EXPECT_FALSE(ShowsStatus(Decoded(object), Wanted(), true));
  const auto patch = WholePatch(object, Decoded(object), Wanted(), true, kNow);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"]["resourceVersion"].AsString(), "7");
  const kube::Pod pod = Decoded(Applied(object, *patch));
  EXPECT_EQ(pod.phase, "Running");
  ASSERT_EQ(pod.statuses.size(), 1u);
  EXPECT_TRUE(pod.statuses[0].running);
  EXPECT_EQ(pod.statuses[0].allocated, Wanted().main.at("train"));
  ASSERT_EQ(pod.init_statuses.size(), 2u);
  EXPECT_FALSE(pod.init_statuses[0].running) << "an init container has ended by now";
  EXPECT_TRUE(pod.init_statuses[1].running) << "a sidecar has not";
  EXPECT_TRUE(ShowsStatus(pod, Wanted(), true));
  EXPECT_FALSE(WholePatch(Applied(object, *patch), pod, Wanted(), true, kNow + 1h));
}

TEST(PodPatch, AManagerShowsNothingBeforeClaimsAreReady) {
  const Json object = Object(kPending);
  EXPECT_FALSE(WholePatch(object, Decoded(object), std::nullopt, false, kNow));
  EXPECT_TRUE(ShowsStatus(Decoded(object), std::nullopt, false));
}

TEST(PodPatch, AManagerLeavesAContainerThatEndedAsItIs) {
  const Json object = Object(R"({phase: Running, startTime: "2026-11-21T13:00:00Z",
    containerStatuses: [{name: train, image: x, restartCount: 3,
                         state: {terminated: {exitCode: 134}},
                         allocatedResourcesStatus: [{name: vendor.com/nic,
                           resources: [{resourceID: nic-0, health: Healthy}]}]}]})");
  const Json after = Applied(object, *WholePatch(object, Decoded(object), Wanted(), true, kNow));
  const Json& status = after["status"]["containerStatuses"][0];
  EXPECT_EQ(status["state"]["terminated"]["exitCode"].AsInt(), 134);
  EXPECT_EQ(status["restartCount"].AsInt(), 3);
  EXPECT_EQ(status["allocatedResourcesStatus"].items().size(), 2u)
      << "a device plugin's entry is not ours to remove";
}

TEST(PodPatch, APodThatHasEndedIsNotSetRunningAgain) {
  const Json object = Object(R"({phase: Failed})");
  EXPECT_TRUE(ShowsStatus(Decoded(object), std::nullopt, true));
  EXPECT_FALSE(WholePatch(object, Decoded(object), std::nullopt, true, kNow));
}

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

TEST(RunPatch, KeepsAndShowsTheContainersDevices) {
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
