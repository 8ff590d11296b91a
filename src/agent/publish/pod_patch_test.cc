#include "agent/publish/pod_patch.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace galen::agent
