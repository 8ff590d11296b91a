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

TEST(StrategicPatch, WithAUidPreconditionOfAnotherObjectConflicts) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply reply =
      TheApi().Patch(ns.Pod("a") + "/status", kStrategicPatch,
                     R"({"metadata": {"uid": "00000000-0000-4000-8000-000000000000"},
          "status": {"message": "late"}})");
  EXPECT_EQ(reply.code, 409);
  EXPECT_FALSE(TheApi().Get(ns.Pod("a")).body["status"].Has("message"));
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
