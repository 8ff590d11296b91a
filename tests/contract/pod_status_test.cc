// The status of Pods: written apart from the rest, by several writers.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

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

TEST(PodStatus, IsReplacedByAPut) {
  const Namespace ns;
  Json pod = TheApi().Post(ns.Pods(), MakePod("a")).body;
  pod["spec"]["hostNetwork"] = true;
  pod["metadata"]["annotations"]["galen.dev/devices"] = "gpu-3 Unhealthy";
  pod["status"]["message"] = "late";
  const Reply reply = TheApi().Put(ns.Pod("a") + "/status", pod);
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["status"]["message"].AsString(), "late");
  EXPECT_EQ(reply.body["metadata"]["annotations"]["galen.dev/devices"].AsString(),
            "gpu-3 Unhealthy");
  EXPECT_FALSE(reply.body["spec"]["hostNetwork"].AsBool());
  // It was of that version, which is gone now.
  EXPECT_EQ(TheApi().Put(ns.Pod("a") + "/status", pod).code, 409);
}

TEST(PodStatus, PatchThatNamesAnOldVersionConflicts) {
  const Namespace ns;
  const Json pod = TheApi().Post(ns.Pods(), MakePod("a")).body;
  const std::string status = ns.Pod("a") + "/status";
  TheApi().Patch(status, kMergePatch, R"({"status": {"message": "first"}})");
  for (const char* type : {kStrategicPatch, kMergePatch}) {
    Json late = ToJson(R"({"status": {"message": "late"}})");
    late["metadata"]["resourceVersion"] = pod["metadata"]["resourceVersion"];
    EXPECT_EQ(TheApi().Patch(status, type, late.Dump()).code, 409) << type;
  }
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).body["status"]["message"].AsString(), "first");
}

TEST(PodStatus, TakesAJsonPatchThatTestsFirst) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string status = ns.Pod("a") + "/status";
  const auto patch = [&](const char* phase) {
    Json test = ToJson(R"({"op": "test", "path": "/status/phase"})");
    test["value"] = phase;
    const Json add = ToJson(R"({"op": "add", "path": "/status/message", "value": "m"})");
    return TheApi().Patch(status, kJsonPatch, Json::MakeArray({test, add}).Dump());
  };
  EXPECT_EQ(patch("Running").code, 422);
  EXPECT_EQ(patch("Pending").body["status"]["message"].AsString(), "m");
}

TEST(PodStatus, IsAppliedWithItsAnnotation) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply reply = TheApi().Patch(ns.Pod("a") + "/status?fieldManager=galen", kApplyPatch, R"({
      "apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "a", "annotations": {"galen.dev/devices": "gpu-3 Unhealthy"}},
      "status": {"conditions": [{"type": "galen.dev/DevicesHealthy", "status": "False"}]}})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["metadata"]["annotations"]["galen.dev/devices"].AsString(),
            "gpu-3 Unhealthy");
  EXPECT_EQ(reply.body["status"]["conditions"][0]["type"].AsString(), "galen.dev/DevicesHealthy");
}

TEST(PodStatus, OfAKubeletKeepsTheConditionOfAnother) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string status = ns.Pod("a") + "/status";
  TheApi().Patch(status, kStrategicPatch, R"({"status": {"conditions": [
      {"type": "galen.dev/DevicesHealthy", "status": "False"}]}})");
  // As a kubelet writes: its own conditions, and the order that it wants.
  const Reply reply = TheApi().Patch(status, kStrategicPatch, R"({"status": {
      "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "galen.dev/DevicesHealthy"}],
      "conditions": [{"type": "Ready", "status": "True"}]}})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  ASSERT_EQ(reply.body["status"]["conditions"].items().size(), 2u);
  EXPECT_EQ(reply.body["status"]["conditions"][0]["type"].AsString(), "Ready");
  EXPECT_EQ(reply.body["status"]["conditions"][1]["status"].AsString(), "False");
}

}  // namespace
}  // namespace galen::contract
