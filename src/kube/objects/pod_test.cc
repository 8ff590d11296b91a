#include "kube/objects/pod.h"

#include <gtest/gtest.h>

#include "kube/test_json.h"

namespace galen::kube {
namespace {

// A Pod as 1.37 serves it, with every part that we read.
constexpr std::string_view kPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "trainer-0", "namespace": "train", "uid": "u-1", "resourceVersion": "77",
               "annotations": {"galen.dev/devices": "gpu-3 Unhealthy"}},
  "spec": {
    "nodeName": "node-7", "restartPolicy": "OnFailure", "schedulingGroup": {"podGroupName": "gang"},
    "containers": [{"name": "train", "image": "t:1",
                    "resources": {"claims": [{"name": "gpu"}, {"name": "nic", "request": "fast"}]}}],
    "initContainers": [{"name": "fetch", "image": "f:1"},
                       {"name": "proxy", "restartPolicy": "Always"}],
    "ephemeralContainers": [{"name": "debug"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"},
                       {"name": "nic", "resourceClaimName": "shared-nic"}]},
  "status": {
    "phase": "Running", "startTime": "2026-11-21T14:00:00Z", "reason": "NodeShutdown",
    "conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "m",
                    "lastTransitionTime": "2026-11-21T14:01:00Z"}],
    "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "trainer-0-gpu-x"}],
    "extendedResourceClaimStatus": {"resourceClaimName": "ext",
      "requestMappings": [{"containerName": "train", "resourceName": "e.com/g", "requestName": "r0"}]},
    "containerStatuses": [{
      "name": "train", "restartCount": 2,
      "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
      "lastState": {"terminated": {"exitCode": 134, "signal": 6, "reason": "Error",
                                   "message": "device lost",
                                   "startedAt": "2026-11-21T14:01:00Z",
                                   "finishedAt": "2026-11-21T14:02:14Z"}},
      "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": [
        {"resourceID": "e.com/gpu=3", "health": "Unhealthy", "message": "XID 79"}]}]}],
    "initContainerStatuses": [{"name": "fetch", "state": {"terminated":
      {"exitCode": 0, "reason": "Completed"}}}, {"name": "proxy", "state": {"running": {}}}]}
})";

TEST(Pod, FindsTheConditionOfItsDevicesAmongOthers) {
  Pod pod;
  EXPECT_EQ(FindDevicesCondition(pod), nullptr);
  pod.conditions = {{.type = "Ready"}, {.type = std::string(kDevicesCondition), .status = "False"}};
  ASSERT_NE(FindDevicesCondition(pod), nullptr);
  EXPECT_EQ(FindDevicesCondition(pod)->status, "False");
}

TEST(Pod, ReadsWhatDeviceHealthNeedsOfTheSpec) {
  const StatusOr<Pod> pod = DecodePod(JsonOf(kPod));
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->ref(), (PodRef{{"train", "trainer-0"}, "u-1"}));
  EXPECT_EQ(pod->node, "node-7");
  EXPECT_EQ(pod->group, "gang");
  EXPECT_EQ(pod->restart_policy, "OnFailure");
  const std::vector<Container> expected = {
      {"train", "t:1", Container::Kind::kMain, {{"gpu", ""}, {"nic", "fast"}}},
      {"fetch", "f:1", Container::Kind::kInit, {}},
      {"proxy", "", Container::Kind::kSidecar, {}},
      {"debug", "", Container::Kind::kEphemeral, {}}};
  EXPECT_EQ(pod->containers, expected);
  EXPECT_EQ(pod->claims,
            (std::vector<PodClaim>{{"gpu", "", "one-gpu"}, {"nic", "shared-nic", ""}}));
  EXPECT_EQ(pod->devices_annotation, "gpu-3 Unhealthy");
}

TEST(Pod, ReadsItsStatus) {
  const Pod pod = *DecodePod(JsonOf(kPod));
  EXPECT_EQ(pod.phase, "Running");
  EXPECT_EQ(FormatRfc3339(*pod.started), "2026-11-21T14:00:00Z");
  EXPECT_EQ(pod.reason, "NodeShutdown");
  ASSERT_EQ(pod.conditions.size(), 1u);
  EXPECT_EQ(pod.conditions[0].type, "Ready");
  EXPECT_EQ(pod.conditions[0].status, "False");
  EXPECT_EQ(FormatRfc3339(*pod.conditions[0].changed), "2026-11-21T14:01:00Z");
  EXPECT_EQ(pod.extended_claim, "ext");
  EXPECT_EQ(pod.extended, (std::vector<ExtendedResourceMapping>{{"train", "e.com/g", "r0"}}));
}

TEST(Pod, AContainerThatWaitsSaysWhyAndHowItEndedBefore) {
  const Pod pod = *DecodePod(JsonOf(kPod));
  ASSERT_EQ(pod.statuses.size(), 1u);
  const ContainerStatus& status = pod.statuses[0];
  EXPECT_FALSE(status.running);
  EXPECT_EQ(status.exit_code, 134);
  EXPECT_EQ(status.signal, 6);
  EXPECT_EQ(status.reason, "CrashLoopBackOff");
  EXPECT_EQ(status.message, "back-off");
  EXPECT_EQ(status.end_reason, "Error");
  EXPECT_EQ(status.end_message, "device lost");
  EXPECT_EQ(FormatRfc3339(*status.end_started), "2026-11-21T14:01:00Z");
  EXPECT_EQ(status.restarts, 2);
  EXPECT_EQ(FormatRfc3339(*status.finished), "2026-11-21T14:02:14Z");
  const std::vector<ResourceStatus> allocated = {
      {"claim:gpu", {{"e.com/gpu=3", "Unhealthy", "XID 79"}}}};
  EXPECT_EQ(status.allocated, allocated);
}

TEST(Pod, AContainerThatEndedOrRunsSaysSo) {
  const Pod pod = *DecodePod(JsonOf(kPod));
  ASSERT_EQ(pod.init_statuses.size(), 2u);
  EXPECT_EQ(pod.init_statuses[0].exit_code, 0);
  EXPECT_EQ(pod.init_statuses[0].signal, std::nullopt);
  EXPECT_EQ(pod.init_statuses[0].reason, "Completed");
  EXPECT_TRUE(pod.init_statuses[1].running);
  EXPECT_EQ(pod.init_statuses[1].exit_code, std::nullopt);
}

TEST(Pod, AChangeThatIsNotOursIsNoChange) {
  Json other = JsonOf(kPod);
  other["metadata"]["resourceVersion"] = "78";
  other["spec"]["priority"] = 7;
  EXPECT_EQ(*DecodePod(JsonOf(kPod)), *DecodePod(other));
}

TEST(Pod, WhoAskedForItToGoDidSoBeforeItsGraceBegan) {
  Json object = JsonOf(kPod);
  EXPECT_EQ(DecodePod(object)->asked_to_go, std::nullopt);
  object["metadata"]["deletionTimestamp"] = "2026-11-21T14:03:11Z";
  object["metadata"]["deletionGracePeriodSeconds"] = 30;
  EXPECT_EQ(FormatRfc3339(*DecodePod(object)->asked_to_go), "2026-11-21T14:02:41Z");
  object["metadata"]["deletionGracePeriodSeconds"] = std::int64_t{9'223'372'036'854'775'807};
  EXPECT_EQ(FormatRfc3339(*DecodePod(object)->asked_to_go), "2026-11-20T14:03:11Z");
}

TEST(Pod, ABarePodIsReadable) {
  const StatusOr<Pod> pod = DecodePod(JsonOf(R"({"metadata":{"name":"p","uid":"u"}})"));
  ASSERT_TRUE(pod.ok());
  EXPECT_TRUE(pod->containers.empty());
  EXPECT_EQ(DecodePod(JsonOf("{}")).status().code(), Code::kInvalidArgument);
}

TEST(WantsPluginDevices, AnExtendedResourceThatNoClaimStandsForIsAPlugins) {
  const auto pod = [](const std::string& limits) {
    return *DecodePod(JsonOf(R"({"metadata":{"name":"p","uid":"u"},"spec":{"containers":[
        {"name":"main","resources":{"limits":)" +
                             limits + "}}]}}"));
  };
  EXPECT_TRUE(WantsPluginDevices(pod(R"({"nvidia.com/gpu":"1"})")));
  EXPECT_FALSE(WantsPluginDevices(pod(R"({"nvidia.com/gpu":"0","cpu":"1"})")));
  EXPECT_FALSE(
      WantsPluginDevices(pod(R"({"attachable.kubernetes.io/x":"1","hugepages-2Mi":"1"})")));
  Pod by_claim = pod(R"({"nvidia.com/gpu":"1"})");
  by_claim.extended = {{"main", "nvidia.com/gpu", "r0"}};
  EXPECT_FALSE(WantsPluginDevices(by_claim));
  by_claim.extended = {{"other", "nvidia.com/gpu", "r0"}};
  EXPECT_TRUE(WantsPluginDevices(by_claim));
}

TEST(WantsPluginDevices, AContainerThatEndsBeforeTheOthersBeginDoesNotCountAndASidecarDoes) {
  Pod pod;
  pod.containers = {{.name = "setup",
                     .image = "",
                     .kind = Container::Kind::kInit,
                     .claims = {},
                     .resources = {"nvidia.com/gpu"}}};
  EXPECT_FALSE(WantsPluginDevices(pod));
  pod.containers[0].kind = Container::Kind::kSidecar;
  EXPECT_TRUE(WantsPluginDevices(pod));
}

TEST(WantsPluginDevice, IsAskedOfTheContainerAndResource) {
  Pod pod;
  pod.containers = {{.name = "main", .image = "", .claims = {}, .resources = {"nvidia.com/gpu"}},
                    {.name = "side", .image = "", .claims = {}, .resources = {"x.com/nic"}}};
  EXPECT_TRUE(WantsPluginDevice(pod, "main", "nvidia.com/gpu"));
  EXPECT_FALSE(WantsPluginDevice(pod, "main", "x.com/nic"));
  EXPECT_FALSE(WantsPluginDevice(pod, "other", "x.com/nic"));
  pod.extended = {{"main", "nvidia.com/gpu", "r0"}};
  EXPECT_FALSE(WantsPluginDevice(pod, "main", "nvidia.com/gpu"));
  EXPECT_TRUE(WantsPluginDevice(pod, "side", "x.com/nic"));
}

TEST(ClaimObjectName, PrefersWhatTheStatusSays) {
  Pod pod = *DecodePod(JsonOf(kPod));
  EXPECT_EQ(ClaimObjectName(pod, "gpu"), "trainer-0-gpu-x");
  EXPECT_EQ(ClaimObjectName(pod, "nic"), "shared-nic");
  EXPECT_EQ(ClaimObjectName(pod, "other"), std::nullopt);
  pod.claim_names["gpu"] = "";
  EXPECT_EQ(ClaimObjectName(pod, "gpu"), std::nullopt) << "made, but none was needed";
  pod.claim_names.clear();
  EXPECT_EQ(ClaimObjectName(pod, "gpu"), std::nullopt) << "not made yet";
}

}  // namespace
}  // namespace galen::kube
