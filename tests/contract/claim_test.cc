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

// For something that is no Pod: of Pods that are not there a cluster's controller takes it back.
constexpr const char* kAllocation = R"({"status": {
    "allocation": {"devices": {"results": [{"request": "gpu", "driver": "gpu.example.com",
                                            "pool": "node-1", "device": "gpu-0"}]}},
    "reservedFor": [{"apiGroup": "example.com", "resource": "gangs", "name": "p", "uid": "u"}]}})";

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

// As a scheduler and a controller do side by side: each names its own Pod.
TEST(ResourceClaim, AStrategicPatchOfTheStatusMergesReservationsByTheirUid) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  const std::string status = ns.Claim("c") + "/status";
  TheApi().Patch(status, kMergePatch, kAllocation);
  const Reply added = TheApi().Patch(status, kStrategicPatch, R"({"status": {"reservedFor": [
      {"apiGroup": "example.com", "resource": "gangs", "name": "q", "uid": "v"}]}})");
  ASSERT_EQ(added.code, 200) << added.text;
  EXPECT_EQ(added.body["status"]["reservedFor"].items().size(), 2u) << added.text;
  EXPECT_TRUE(added.body["status"]["allocation"].is_object()) << added.text;
  const Reply taken = TheApi().Patch(status, kStrategicPatch, R"({"status": {"reservedFor": [
      {"$patch": "delete", "uid": "u"}]}})");
  ASSERT_EQ(taken.code, 200) << taken.text;
  ASSERT_EQ(taken.body["status"]["reservedFor"].items().size(), 1u) << taken.text;
  EXPECT_EQ(taken.body["status"]["reservedFor"][0]["name"].AsString(), "q");
}

TEST(ResourceClaim, ReportsOnlyDevicesThatItHolds) {
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

// Two drivers, each of which writes the status of its own device.
TEST(ResourceClaim, DeviceStatusesAreAppliedByDeviceKey) {
  const Namespace ns;
  Json claim = MakeClaim();
  claim["spec"]["devices"]["requests"].MutableItems()[0]["exactly"]["count"] = 2;
  ASSERT_EQ(TheApi().Post(ns.Claims(), claim).code, 201);
  const std::string status = ns.Claim("c") + "/status";
  const Reply allocated = TheApi().Patch(status, kMergePatch, R"({"status": {
      "allocation": {"devices": {"results": [
        {"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "gpu-0"},
        {"request": "gpu", "driver": "nic.example.com", "pool": "p", "device": "nic-0"}]}}}})");
  ASSERT_EQ(allocated.code, 200) << allocated.text;
  const auto apply = [&](const char* driver, const char* device) {
    Json applied = ToJson(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "c"}, "status": {"devices": [{"pool": "p", "data": {"a": 1}}]}})");
    Json& entry = applied["status"]["devices"].MutableItems()[0];
    entry["driver"] = driver;
    entry["device"] = device;
    return TheApi().Send("PATCH", status + "?fieldManager=" + driver, applied, kApplyPatch);
  };
  apply("gpu.example.com", "gpu-0");
  const Reply both = apply("nic.example.com", "nic-0");
  ASSERT_EQ(both.code, 200) << both.text;
  EXPECT_EQ(both.body["status"]["devices"].items().size(), 2u);
  EXPECT_EQ(both.body["status"]["devices"][0]["data"], ToJson(R"({"a": 1})"));
}

TEST(ResourceClaim, AStatusWriteLeavesTheSpecAlone) {
  const Namespace ns;
  const Json made = TheApi().Post(ns.Claims(), MakeClaim()).body;
  Json changed = made;
  changed["spec"]["devices"]["requests"].MutableItems()[0]["name"] = "other";
  changed["status"]["reservedFor"] = Json::Array();
  const Reply reply = TheApi().Put(ns.Claim("c") + "/status", changed);
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["spec"], made["spec"]);
}

TEST(ResourceClaim, AnUpdateLeavesTheStatusAlone) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), MakeClaim());
  TheApi().Patch(ns.Claim("c") + "/status", kMergePatch, kAllocation);
  const Reply reply =
      TheApi().Patch(ns.Claim("c"), kMergePatch, R"({"status": {"reservedFor": null}})");
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["status"]["reservedFor"].items().size(), 1u) << reply.text;
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

TEST(ResourceSlice, RemembersWhenATaintCame) {
  const std::string name = FreshName("slice");
  Json slice = MakeSlice(name);
  slice["spec"]["devices"].MutableItems()[0]["taints"] =
      ToJson(R"([{"key": "galen.dev/unhealthy", "effect": "NoSchedule"}])");
  const Reply reply = TheApi().Post(kSlices, slice);
  ASSERT_EQ(reply.code, 201) << reply.text;
  EXPECT_GT(reply.body["spec"]["devices"][0]["taints"][0]["timeAdded"].AsString(), "2020");
  TheApi().Delete(std::string(kSlices) + "/" + name);
}

TEST(ResourceSlice, NamesEachDeviceOnce) {
  Json slice = MakeSlice(FreshName("slice"));
  slice["spec"]["devices"].Append(ToJson(R"({"name": "gpu-0"})"));
  const Reply reply = TheApi().Post(kSlices, slice);
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"].AsString(), "FieldValueDuplicate");
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
  // Before it came to v1 it was served only where v1alpha3 was asked for.
  const std::string version = IsBefore(37) ? "v1alpha3" : "v1";
  const std::string rules = "/apis/resource.k8s.io/" + version + "/devicetaintrules";
  const Reply reply = TheApi().Post(rules, rule);
  ASSERT_EQ(reply.code, 201) << reply.text;
  EXPECT_GT(reply.body["spec"]["taint"]["timeAdded"].AsString(), "2020");
  TheApi().Delete(rules + "/" + name);
  rule["spec"]["taint"]["effect"] = "Explode";
  EXPECT_EQ(TheApi().Post(rules, rule).code, 422);
}

}  // namespace
}  // namespace galen::contract
