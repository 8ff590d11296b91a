// The kinds of resource.k8s.io/v1.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";

Json MakeClaim() {
  return ToJson(R"({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [
      {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}})");
}

constexpr const char* kAllocation = R"({"status": {
    "allocation": {"devices": {"results": [{"request": "gpu", "driver": "gpu.example.com",
                                            "pool": "node-1", "device": "gpu-0"}]}},
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}})";

Json MakeSlice(const std::string& name) {
  Json slice = ToJson(R"({"spec": {"driver": "gpu.example.com", "nodeName": "node-1",
      "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
      "devices": [{"name": "gpu-0", "attributes": {"model": {"string": "H200"}}}]}})");
  slice["metadata"]["name"] = name;
  return slice;
}

TEST(ResourceClaim, ExactRequestsAreForOneDeviceUnlessSaidOtherwise) {
  const Namespace ns;
  const Reply reply = TheApi().Post(ns.Claims(), MakeClaim());
  ASSERT_EQ(reply.code, 201) << reply.text;
  const Json& exactly = reply.body["spec"]["devices"]["requests"][0]["exactly"];
  EXPECT_EQ(exactly["allocationMode"].AsString(), "ExactCount");
  EXPECT_EQ(exactly["count"].AsInt(), 1);
}

TEST(ResourceClaim, ItsSpecNeverChanges) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  const Reply reply = TheApi().Patch(ns.Claim("c"), kJsonPatch, R"([{"op": "replace",
      "path": "/spec/devices/requests/0/exactly/deviceClassName", "value": "other"}])");
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), "spec");
}

TEST(ResourceClaim, IsAllocatedThroughItsStatus) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  const Reply reply = TheApi().Patch(ns.Claim("c") + "/status", kMergePatch, kAllocation);
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["status"]["reservedFor"][0]["name"].AsString(), "p");
}

TEST(ResourceClaim, AnAllocationIsTakenBackOrKeptButNotChanged) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  const std::string status = ns.Claim("c") + "/status";
  TheApi().Patch(status, kMergePatch, kAllocation);
  EXPECT_EQ(TheApi()
                .Patch(status, kJsonPatch, R"([{"op": "replace",
                    "path": "/status/allocation/devices/results/0/device", "value": "gpu-1"}])")
                .code,
            422);
  EXPECT_EQ(TheApi()
                .Patch(status, kMergePatch, R"({"status": {"reservedFor": null,
                                                           "allocation": null}})")
                .code,
            200);
}

TEST(ResourceClaim, SpeaksOnlyOfDevicesThatItHolds) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  const std::string status = ns.Claim("c") + "/status";
  TheApi().Patch(status, kMergePatch, kAllocation);
  const auto say = [&](const char* device) {
    Json patch = ToJson(R"({"status": {"devices": [{"driver": "gpu.example.com",
        "pool": "node-1", "conditions": [{"type": "Ready", "status": "True", "reason": "Ok",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}})");
    patch["status"]["devices"].MutableItems()[0]["device"] = device;
    return TheApi().Patch(status, kMergePatch, patch.Dump()).code;
  };
  EXPECT_EQ(say("gpu-7"), 422);
  EXPECT_EQ(say("gpu-0"), 200);
}

TEST(ResourceClaim, AStatusWriteLeavesLabelsAlone) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  const Reply reply = TheApi().Patch(ns.Claim("c") + "/status", kMergePatch,
                                     R"({"metadata": {"labels": {"a": "b"}}})");
  EXPECT_EQ(reply.code, 200);
  EXPECT_FALSE(reply.body["metadata"]["labels"].Has("a"));
}

TEST(ResourceSlice, CountsItsGenerations) {
  const std::string name = FreshName("slice");
  const Reply created = TheApi().Post(kSlices, MakeSlice(name));
  ASSERT_EQ(created.code, 201) << created.text;
  EXPECT_EQ(created.body["metadata"]["generation"].AsInt(), 1);
  const std::string path = std::string(kSlices) + "/" + name;
  const Reply changed =
      TheApi().Patch(path, kMergePatch, R"({"spec": {"pool": {"generation": 2}}})");
  EXPECT_EQ(changed.body["metadata"]["generation"].AsInt(), 2);
  TheApi().Delete(path);
}

TEST(ResourceSlice, IsFoundByDriverAndNode) {
  const std::string name = FreshName("slice");
  TheApi().Post(kSlices, MakeSlice(name));
  const auto count = [&](const std::string& selector) {
    return TheApi()
        .Get(std::string(kSlices) + "?fieldSelector=metadata.name%3D" + name + "," + selector)
        .body["items"]
        .items()
        .size();
  };
  EXPECT_EQ(count("spec.driver%3Dgpu.example.com,spec.nodeName%3Dnode-1"), 1u);
  EXPECT_EQ(count("spec.driver%3Dother.example.com"), 0u);
  EXPECT_EQ(count("spec.nodeName%3Dnode-2"), 0u);
  TheApi().Delete(std::string(kSlices) + "/" + name);
}

TEST(ResourceSlice, KeepsItsDriverAndPool) {
  const std::string name = FreshName("slice");
  TheApi().Post(kSlices, MakeSlice(name));
  const std::string path = std::string(kSlices) + "/" + name;
  EXPECT_EQ(TheApi().Patch(path, kMergePatch, R"({"spec": {"driver": "x.example.com"}})").code,
            422);
  EXPECT_EQ(TheApi().Patch(path, kMergePatch, R"({"spec": {"pool": {"name": "x"}}})").code, 422);
  TheApi().Delete(path);
}

TEST(ResourceSlice, HoldsAtMost128Devices) {
  Json slice = MakeSlice(FreshName("slice"));
  Json devices = Json(Json::Array());
  for (int i = 0; i < 129; ++i) {
    devices.Append(Json::MakeObject({{"name", "gpu-" + std::to_string(i)}}));
  }
  slice["spec"]["devices"] = devices;
  EXPECT_EQ(TheApi().Post(kSlices, slice).code, 422);
}

TEST(DeviceTaintRule, RemembersWhenItsTaintCame) {
  Json rule = ToJson(R"({"spec": {"deviceSelector": {"driver": "gpu.example.com"},
      "taint": {"key": "galen.dev/unhealthy", "effect": "NoExecute"}}})");
  const std::string name = FreshName("rule");
  rule["metadata"]["name"] = name;
  const std::string rules = "/apis/resource.k8s.io/v1/devicetaintrules";
  const Reply reply = TheApi().Post(rules, rule);
  ASSERT_EQ(reply.code, 201) << reply.text;
  EXPECT_GT(reply.body["spec"]["taint"]["timeAdded"].AsString(), "2020");
  TheApi().Delete(rules + "/" + name);
  rule["spec"]["taint"]["effect"] = "Explode";
  EXPECT_EQ(TheApi().Post(rules, rule).code, 422);
}

}  // namespace
}  // namespace galen::contract
