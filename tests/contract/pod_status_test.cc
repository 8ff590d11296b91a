// The status of Pods: written apart from the rest, and what it may say about devices.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

// A Pod whose container holds the claim "gpu", and of "nic" only the request "port".
Json MakeClaimPod() {
  Json pod = MakePod("a");
  pod["spec"]["resourceClaims"] = ToJson(R"([{"name": "gpu", "resourceClaimName": "g"},
                                             {"name": "nic", "resourceClaimName": "n"}])");
  pod["spec"]["containers"].MutableItems()[0]["resources"] =
      ToJson(R"({"claims": [{"name": "gpu"}, {"name": "nic", "request": "port"}]})");
  return pod;
}

// Writes one entry of allocatedResourcesStatus.
Reply Report(const Namespace& ns, std::string_view entry) {
  Json patch = ToJson(R"({"status": {"containerStatuses": [{"name": "main", "ready": true,
      "restartCount": 0, "image": "localhost/none", "imageID": ""}]}})");
  patch["status"]["containerStatuses"].MutableItems()[0]["allocatedResourcesStatus"] =
      Json::MakeArray({ToJson(entry)});
  return TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, patch.Dump());
}

TEST(PodStatus, IsNotWrittenThroughThePodItself) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Patch(ns.Pod("a"), kMergePatch,
                 R"({"status": {"phase": "Failed"}, "metadata": {"labels": {"a": "b"}}})");
  const Json pod = TheApi().Get(ns.Pod("a")).body;
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Pending");
  EXPECT_EQ(pod["metadata"]["labels"]["a"].AsString(), "b");
}

TEST(PodStatus, WriteKeepsTheSpecAndMayAnnotate) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply reply = TheApi().Patch(ns.Pod("a") + "/status", kStrategicPatch, R"({
      "metadata": {"annotations": {"galen.dev/devices": "gpu-3 Unhealthy"}},
      "spec": {"hostNetwork": true},
      "status": {"conditions": [{"type": "galen.dev/DevicesHealthy", "status": "False",
                                 "reason": "XidGpuLost", "message": "lost"}]}})");
  EXPECT_EQ(reply.code, 200);
  const Json pod = TheApi().Get(ns.Pod("a")).body;
  EXPECT_EQ(pod["metadata"]["annotations"]["galen.dev/devices"].AsString(), "gpu-3 Unhealthy");
  EXPECT_FALSE(pod["spec"]["hostNetwork"].AsBool());
  EXPECT_EQ(pod["status"]["conditions"][0]["reason"].AsString(), "XidGpuLost");
}

TEST(PodStatus, CanBeReadAsTheWholePod) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply reply = TheApi().Get(ns.Pod("a") + "/status");
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["spec"]["containers"][0]["name"].AsString(), "main");
}

TEST(DeviceHealth, IsTakenForTheContainersClaims) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeClaimPod()).code, 201);
  const Reply reply = Report(ns, R"({"name": "claim:gpu", "resources": [
      {"resourceID": "gpu.example.com/gpu=gpu-3", "health": "Unhealthy", "message": "lost"}]})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  const Json& entry = reply.body["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0];
  EXPECT_EQ(entry["resources"][0]["health"].AsString(), "Unhealthy");
  EXPECT_EQ(entry["resources"][0]["message"].AsString(), "lost");
  EXPECT_EQ(Report(ns, R"({"name": "claim:nic/port", "resources": [
      {"resourceID": "x", "health": "Unknown"}]})")
                .code,
            200);
}

TEST(DeviceHealth, IsRefusedForWhatTheContainerDoesNotHold) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakeClaimPod());
  for (const char* name : {"claim:other", "claim:nic", "claim:gpu/extra", "vendor.com/nic"}) {
    Json entry = ToJson(R"({"resources": [{"resourceID": "x", "health": "Healthy"}]})");
    entry["name"] = name;
    const Reply reply = Report(ns, entry.Dump());
    EXPECT_EQ(reply.code, 422) << name;
    EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(),
              "status.containerStatuses[0].allocatedResourcesStatus[0].name");
  }
}

TEST(DeviceHealth, IsOneOfThreeWords) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakeClaimPod());
  const Reply reply = Report(ns, R"({"name": "claim:gpu", "resources": [
      {"resourceID": "x", "health": "Degraded"}]})");
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"].AsString(), "FieldValueNotSupported");
}

TEST(DeviceHealth, NamesEachResourceOnce) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakeClaimPod());
  const Reply reply = Report(ns, R"({"name": "claim:gpu", "resources": [
      {"resourceID": "x", "health": "Healthy"}, {"resourceID": "x", "health": "Healthy"}]})");
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"].AsString(), "FieldValueDuplicate");
}

TEST(DeviceHealth, HasAMessageOfOneTo1024Bytes) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakeClaimPod());
  const auto report = [&ns](std::size_t bytes) {
    Json entry =
        ToJson(R"({"name": "claim:gpu", "resources": [{"resourceID": "x", "health": "Healthy"}]})");
    entry["resources"].MutableItems()[0]["message"] = std::string(bytes, 'm');
    return Report(ns, entry.Dump()).code;
  };
  EXPECT_EQ(report(0), 422);
  EXPECT_EQ(report(1), 200);
  EXPECT_EQ(report(1024), 200);
  EXPECT_EQ(report(1025), 422);
}

TEST(DeviceHealth, ContainersMayOnlyNameThePodsClaims) {
  const Namespace ns;
  Json pod = MakeClaimPod();
  pod["spec"]["resourceClaims"] = ToJson(R"([{"name": "gpu", "resourceClaimName": "g"}])");
  EXPECT_EQ(TheApi().Post(ns.Pods(), pod).code, 422);
}

}  // namespace
}  // namespace galen::contract
