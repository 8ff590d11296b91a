// What a Pod's status may say of the devices that its containers hold: allocatedResourcesStatus
// (KEP-4680), which the API server checks against the Pod's spec.
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

TEST(DeviceHealth, IsTakenForTheContainersClaims) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeClaimPod()).code, 201);
  const Reply reply = Report(ns, R"({"name": "claim:gpu", "resources": [
      {"resourceID": "gpu.example.com/gpu=gpu-3", "health": "Unhealthy"}]})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  const Json& entry = reply.body["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0];
  EXPECT_EQ(entry["resources"][0]["health"].AsString(), "Unhealthy");
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

TEST(DeviceHealth, IsOneOfThreeValues) {
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
  if (IsBefore(36)) {
    EXPECT_EQ(report(0), 200);
    EXPECT_EQ(report(1025), 200);
    return;
  }
  EXPECT_EQ(report(0), 422);
  EXPECT_EQ(report(1), 200);
  EXPECT_EQ(report(1024), 200);
  EXPECT_EQ(report(1025), 422);
}

TEST(DeviceHealth, HasAMessageThatPeopleRead) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakeClaimPod());
  const Reply reply = Report(ns, R"({"name": "claim:gpu", "resources": [
      {"resourceID": "x", "health": "Unhealthy", "message": "lost"}]})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  const Json& resource =
      reply.body["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0]["resources"][0];
  EXPECT_EQ(resource["message"].AsString(), IsBefore(36) ? "" : "lost");
}

TEST(DeviceHealth, IsTakenForWhatADevicePluginGave) {
  const Namespace ns;
  Json pod = MakeClaimPod();
  pod["spec"]["containers"].MutableItems()[0]["resources"]["limits"]["vendor.com/nic"] = "1";
  ASSERT_EQ(TheApi().Post(ns.Pods(), pod).code, 201);
  EXPECT_EQ(Report(ns, R"({"name": "vendor.com/nic", "resources": [
      {"resourceID": "eth7", "health": "Healthy"}]})")
                .code,
            200);
}

// KEP-5004: the scheduler makes the claim, and the Pod knows it only by its status.
TEST(DeviceHealth, IsTakenForTheClaimOfAnExtendedResource) {
  const Namespace ns;
  Json pod = MakeClaimPod();
  pod["spec"]["containers"].MutableItems()[0]["resources"]["limits"]["vendor.com/nic"] = "1";
  ASSERT_EQ(TheApi().Post(ns.Pods(), pod).code, 201);
  const Reply mapped = TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, R"({"status": {
      "extendedResourceClaimStatus": {"resourceClaimName": "a-extended", "requestMappings": [
        {"containerName": "main", "resourceName": "vendor.com/nic",
         "requestName": "container-0-request-0"}]}}})");
  ASSERT_EQ(mapped.code, 200) << mapped.text;
  const auto report = [&ns](std::string_view name) {
    Json entry = ToJson(R"({"resources": [{"resourceID": "x", "health": "Healthy"}]})");
    entry["name"] = name;
    return Report(ns, entry.Dump()).code;
  };
  EXPECT_EQ(report("claim:a-extended/container-0-request-0"), IsBefore(37) ? 422 : 200);
  EXPECT_EQ(report("claim:a-extended/other"), 422);
  EXPECT_EQ(report("claim:a-extended"), 422);
}

TEST(DeviceHealth, IsTakenForInitContainersButNotForEphemeralOnes) {
  const Namespace ns;
  Json pod = MakeClaimPod();
  pod["spec"]["initContainers"] = ToJson(R"([{"name": "main-init", "image": "localhost/none",
      "resources": {"claims": [{"name": "gpu"}]}}])");
  ASSERT_EQ(TheApi().Post(ns.Pods(), pod).code, 201);
  const auto report = [&ns](const char* list, const char* container, const char* name) {
    Json status = ToJson(R"({"ready": true, "restartCount": 0, "image": "i", "imageID": "",
        "allocatedResourcesStatus": [{"resources": [{"resourceID": "x", "health": "Healthy"}]}]})");
    status["name"] = container;
    status["allocatedResourcesStatus"].MutableItems()[0]["name"] = name;
    Json patch;
    patch["status"][list] = Json::MakeArray({status});
    return TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, patch.Dump()).code;
  };
  EXPECT_EQ(report("initContainerStatuses", "main-init", "claim:gpu"), 200);
  EXPECT_EQ(report("initContainerStatuses", "main-init", "claim:nic/port"), 422);
  EXPECT_EQ(report("ephemeralContainerStatuses", "debug", "claim:gpu"), 422);
}

TEST(DeviceHealth, OfAContainerThatTheSpecLacksIsNotChecked) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeClaimPod()).code, 201);
  EXPECT_EQ(TheApi()
                .Patch(ns.Pod("a") + "/status", kMergePatch, R"({"status": {
      "containerStatuses": [{"name": "other", "ready": true, "restartCount": 0, "image": "i",
        "imageID": "", "allocatedResourcesStatus": [{"name": "claim:any"}]}]}})")
                .code,
            200);
}

TEST(DeviceHealth, MayNameAClaimTwiceAndNeedsNoResources) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeClaimPod()).code, 201);
  const Reply reply = TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, R"({"status": {
      "containerStatuses": [{"name": "main", "ready": true, "restartCount": 0, "image": "i",
        "imageID": "", "allocatedResourcesStatus": [{"name": "claim:gpu"},
          {"name": "claim:gpu", "resources": [{"resourceID": "x", "health": "Healthy"}]}]}]}})");
  EXPECT_EQ(reply.code, 200) << reply.text;
}

TEST(DeviceHealth, AWholeClaimAndARequestOfItAreNotHeldTogether) {
  const Namespace ns;
  Json pod = MakeClaimPod();
  pod["spec"]["containers"].MutableItems()[0]["resources"]["claims"] =
      ToJson(R"([{"name": "gpu"}, {"name": "gpu", "request": "x"}])");
  const Reply reply = TheApi().Post(ns.Pods(), pod);
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(),
            "spec.containers[0].resources.claims[1]");
}

TEST(DeviceHealth, ContainersMayOnlyNameThePodsClaims) {
  const Namespace ns;
  Json pod = MakeClaimPod();
  pod["spec"]["resourceClaims"] = ToJson(R"([{"name": "gpu", "resourceClaimName": "g"}])");
  EXPECT_EQ(TheApi().Post(ns.Pods(), pod).code, 422);
}

}  // namespace
}  // namespace galen::contract
