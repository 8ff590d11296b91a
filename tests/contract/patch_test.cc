// The four kinds of patches, on Pods, claims and maps.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

TEST(JsonPatch, AddsReplacesAndRemoves) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1"));
  const Reply reply = TheApi().Patch(ns.ConfigMap("a"), kJsonPatch, R"([
      {"op": "add", "path": "/data/other", "value": "x"},
      {"op": "replace", "path": "/data/key", "value": "2"},
      {"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}}])");
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["data"], ToJson(R"({"key": "2", "other": "x"})"));
  const Reply removed = TheApi().Patch(ns.ConfigMap("a"), kJsonPatch,
                                       R"([{"op": "remove", "path": "/metadata/labels/a~1b"}])");
  EXPECT_TRUE(removed.body["metadata"]["labels"].members().empty());
}

TEST(JsonPatch, WhoseTestFailsIsUnprocessable) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1"));
  const Reply reply = TheApi().Patch(ns.ConfigMap("a"), kJsonPatch, R"([
      {"op": "test", "path": "/data/key", "value": "9"},
      {"op": "replace", "path": "/data/key", "value": "2"}])");
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).body["data"]["key"].AsString(), "1");
}

TEST(MergePatch, NullRemovesAMember) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1"));
  const Reply reply =
      TheApi().Patch(ns.ConfigMap("a"), kMergePatch, R"({"data": {"key": null, "b": "c"}})");
  EXPECT_EQ(reply.body["data"], ToJson(R"({"b": "c"})"));
}

TEST(MergePatch, WithAnOldVersionConflicts) {
  const Namespace ns;
  const Json map = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1")).body;
  TheApi().Patch(ns.ConfigMap("a"), kMergePatch, R"({"data": {"key": "2"}})");
  Json patch = ToJson(R"({"data": {"key": "3"}})");
  patch["metadata"]["resourceVersion"] = map["metadata"]["resourceVersion"];
  EXPECT_EQ(TheApi().Patch(ns.ConfigMap("a"), kMergePatch, patch.Dump()).code, 409);
}

TEST(StrategicPatch, MergesConditionsByType) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string status = ns.Pod("a") + "/status";
  TheApi().Patch(status, kStrategicPatch,
                 R"({"status": {"conditions": [{"type": "A", "status": "True"}]}})");
  const Reply reply = TheApi().Patch(status, kStrategicPatch, R"({"status": {"conditions": [
      {"type": "B", "status": "False"}, {"type": "A", "status": "Unknown"}]}})");
  ASSERT_EQ(reply.code, 200);
  std::map<std::string, std::string> seen;
  for (const Json& condition : reply.body["status"]["conditions"].items()) {
    seen[condition["type"].AsString()] = condition["status"].AsString();
  }
  EXPECT_EQ(seen["A"], "Unknown");
  EXPECT_EQ(seen["B"], "False");
}

TEST(StrategicPatch, DeletesAnItemByItsKey) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string status = ns.Pod("a") + "/status";
  TheApi().Patch(status, kStrategicPatch, R"({"status": {"conditions": [
      {"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}})");
  const Reply reply =
      TheApi().Patch(status, kStrategicPatch,
                     R"({"status": {"conditions": [{"$patch": "delete", "type": "A"}]}})");
  ASSERT_EQ(reply.code, 200);
  ASSERT_EQ(reply.body["status"]["conditions"].items().size(), 1u);
  EXPECT_EQ(reply.body["status"]["conditions"][0]["type"].AsString(), "B");
}

// A PUT with another uid is a conflict; a patch would change a field that never changes.
TEST(Patch, WithTheUidOfAnotherObjectIsInvalid) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  for (const char* type : {kStrategicPatch, kMergePatch, kApplyPatch}) {
    const Reply reply = TheApi().Patch(ns.Pod("a") + "/status?fieldManager=m", type,
                                       R"({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "uid": "00000000-0000-4000-8000-000000000000"},
            "status": {"message": "late"}})");
    EXPECT_EQ(reply.code, 422) << type;
    EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), "metadata.uid") << type;
  }
  EXPECT_FALSE(TheApi().Get(ns.Pod("a")).body["status"].Has("message"));
}

// One patch of each type that gives an object a label; `named` is for the apply.
void LabelByEachType(const std::string& path, Json named) {
  named["metadata"]["labels"] = ToJson(R"({"apply": "1"})");
  const std::pair<const char*, std::string> patches[] = {
      {kMergePatch, R"({"metadata": {"labels": {"merge": "1"}}})"},
      {kStrategicPatch, R"({"metadata": {"labels": {"strategic": "1"}}})"},
      {kJsonPatch, R"([{"op": "add", "path": "/metadata/labels/json", "value": "1"}])"},
      {kApplyPatch, named.Dump()}};
  for (const auto& [type, patch] : patches) {
    const Reply reply = TheApi().Patch(path + "?fieldManager=m", type, patch);
    EXPECT_EQ(reply.code, 200) << type << " " << reply.text;
  }
  EXPECT_EQ(TheApi().Get(path).body["metadata"]["labels"],
            ToJson(R"({"merge": "1", "strategic": "1", "json": "1", "apply": "1"})"));
}

Json Named(const char* version, const char* kind, const std::string& name) {
  Json object = Json::MakeObject({{"apiVersion", version}, {"kind", kind}});
  object["metadata"]["name"] = name;
  return object;
}

TEST(Patch, OfEachTypeIsForPods) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  LabelByEachType(ns.Pod("a"), Named("v1", "Pod", "a"));
}

TEST(Patch, OfEachTypeIsForClaims) {
  const Namespace ns;
  Json claim = Named("resource.k8s.io/v1", "ResourceClaim", "c");
  claim["spec"] = ToJson(R"({"devices": {"requests": [
      {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}})");
  ASSERT_EQ(TheApi().Post(ns.Claims(), claim).code, 201);
  LabelByEachType(ns.Claim("c"), Named("resource.k8s.io/v1", "ResourceClaim", "c"));
}

TEST(Patch, OfEachTypeIsForSlices) {
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  const std::string name = FreshName("slice");
  Json slice = Named("resource.k8s.io/v1", "ResourceSlice", name);
  slice["spec"] = ToJson(R"({"driver": "gpu.example.com", "nodeName": "node-1",
      "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1}})");
  ASSERT_EQ(TheApi().Post(slices, slice).code, 201);
  LabelByEachType(slices + "/" + name, Named("resource.k8s.io/v1", "ResourceSlice", name));
  TheApi().Delete(slices + "/" + name);
}

// Lists of slices and claims have no patch keys in Go: a strategic patch replaces them.
TEST(StrategicPatch, ReplacesTheDevicesOfASlice) {
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  const std::string name = FreshName("slice");
  Json slice = Named("resource.k8s.io/v1", "ResourceSlice", name);
  slice["spec"] = ToJson(R"({"driver": "gpu.example.com", "nodeName": "node-1",
      "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
      "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]})");
  ASSERT_EQ(TheApi().Post(slices, slice).code, 201);
  const Reply reply = TheApi().Patch(slices + "/" + name, kStrategicPatch,
                                     R"({"spec": {"devices": [{"name": "gpu-2"}]}})");
  EXPECT_EQ(reply.body["spec"]["devices"], ToJson(R"([{"name": "gpu-2"}])")) << reply.text;
  TheApi().Delete(slices + "/" + name);
}

// Not so on Pods: only an apply asks that a key stands once.
TEST(MergePatch, MayWriteAPodsConditionTwice) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply reply = TheApi().Patch(ns.Pod("a") + "/status", kMergePatch,
                                     R"({"status": {"conditions": [
      {"type": "A", "status": "True"}, {"type": "A", "status": "False"}]}})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["status"]["conditions"].items().size(), 2u);
}

TEST(Patch, OfWhatIsNotThereIsNotFound) {
  const Namespace ns;
  for (const char* type : {kMergePatch, kStrategicPatch}) {
    EXPECT_EQ(TheApi().Patch(ns.Pod("none"), type, "{}").code, 404);
  }
  EXPECT_EQ(TheApi().Patch(ns.Pod("none"), kJsonPatch, "[]").code, 404);
}

TEST(Patch, OfAnUnknownTypeIsRefused) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  EXPECT_EQ(TheApi().Patch(ns.ConfigMap("a"), kJson, "{}").code, 415);
}

}  // namespace
}  // namespace galen::contract
