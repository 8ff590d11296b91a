// What an agent writes beside Pods: Nodes, their Leases, and Events.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

// A Node that no kubelet stands for, deleted at the end.
class FakeNode {
 public:
  FakeNode() : name_(FreshName("node")) {
    Json node = ToJson(R"({"apiVersion": "v1", "kind": "Node",
        "metadata": {"labels": {"contract": "yes"}}})");
    node["metadata"]["name"] = name_;
    EXPECT_EQ(TheApi().Post("/api/v1/nodes", node).code, 201);
  }
  ~FakeNode() { TheApi().Delete(Path()); }
  std::string Path() const { return "/api/v1/nodes/" + name_; }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
};

std::map<std::string, std::string> ConditionsOf(const Json& object) {
  std::map<std::string, std::string> conditions;
  for (const Json& condition : object["status"]["conditions"].items()) {
    conditions[condition["type"].AsString()] = condition["status"].AsString();
  }
  return conditions;
}

TEST(Node, ConditionsAreMergedByType) {
  const FakeNode node;
  TheApi().Patch(node.Path() + "/status", kStrategicPatch, R"({"status": {"conditions": [
      {"type": "example.com/A", "status": "True", "reason": "Ok", "message": ""}]}})");
  const Reply reply =
      TheApi().Patch(node.Path() + "/status", kStrategicPatch, R"({"status": {"conditions": [
      {"type": "example.com/B", "status": "False", "reason": "Bad", "message": "b"}]}})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  // A cluster's controllers may have added some of their own.
  std::map<std::string, std::string> conditions = ConditionsOf(reply.body);
  EXPECT_EQ(conditions["example.com/A"], "True");
  EXPECT_EQ(conditions["example.com/B"], "False");
}

TEST(Node, StatusWriteMayLabelAndAnnotateButNotTaint) {
  const FakeNode node;
  const Reply reply = TheApi().Patch(node.Path() + "/status", kStrategicPatch, R"({
      "metadata": {"annotations": {"example.com/a": "b"}},
      "spec": {"unschedulable": true}, "status": {"capacity": {"example.com/gpu": "8"}}})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["metadata"]["annotations"]["example.com/a"].AsString(), "b");
  EXPECT_EQ(reply.body["status"]["capacity"]["example.com/gpu"].AsString(), "8");
  EXPECT_FALSE(reply.body["spec"]["unschedulable"].AsBool());
}

TEST(Node, IsNotFoundByAnUnknownField) {
  const FakeNode node;
  const std::string query = "/api/v1/nodes?fieldSelector=metadata.name%3D" + node.name();
  EXPECT_EQ(TheApi().Get(query).body["items"].items().size(), 1u);
  EXPECT_EQ(TheApi().Get(query + ",status.phase%3Dx").code, 400);
}

TEST(Lease, IsMadeAndRenewedByPut) {
  const Namespace ns;
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/" + ns.name() + "/leases/n";
  Json lease = ToJson(R"({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
      "metadata": {"name": "n"}, "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40,
      "renewTime": "2026-01-01T00:00:00.000000Z"}})");
  const Reply made = TheApi().Put(path, lease);
  ASSERT_EQ(made.code, 201) << made.text;
  lease = made.body;
  lease["spec"]["renewTime"] = "2026-01-01T00:00:10.000000Z";
  const Reply renewed = TheApi().Put(path, lease);
  EXPECT_EQ(renewed.code, 200) << renewed.text;
  EXPECT_EQ(renewed.body["spec"]["renewTime"].AsString(), "2026-01-01T00:00:10.000000Z");
  // Two holders that read the same version: one of them gets a conflict.
  EXPECT_EQ(TheApi().Put(path, lease).code, 409);
}

Json MakeEvent(const Namespace& ns) {
  Json event = ToJson(R"({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
      "involvedObject": {"kind": "Pod", "name": "a"}, "type": "Warning",
      "reason": "DeviceUnhealthy", "message": "lost", "count": 1,
      "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
      "source": {"component": "galen"}})");
  event["involvedObject"]["namespace"] = ns.name();
  return event;
}

TEST(Event, IsFoundByItsObjectAndCounted) {
  const Namespace ns;
  const std::string events = "/api/v1/namespaces/" + ns.name() + "/events";
  const Reply made = TheApi().Post(events, MakeEvent(ns));
  ASSERT_EQ(made.code, 201) << made.text;
  const auto count = [&](const std::string& selector) {
    return TheApi().Get(events + "?fieldSelector=" + selector).body["items"].items().size();
  };
  EXPECT_EQ(count("involvedObject.kind%3DPod,involvedObject.name%3Da"), 1u);
  EXPECT_EQ(count("involvedObject.name%3Db"), 0u);
  EXPECT_EQ(count("reason%3DDeviceUnhealthy,type%3DWarning"), 1u);
  const Reply again = TheApi().Patch(events + "/e", kStrategicPatch,
                                     R"({"count": 2, "lastTimestamp": "2026-01-01T00:01:00Z"})");
  ASSERT_EQ(again.code, 200) << again.text;
  EXPECT_EQ(again.body["count"].AsInt(), 2);
}

TEST(Event, MustBeOfItsObjectsNamespace) {
  const Namespace ns;
  Json event = MakeEvent(ns);
  event["involvedObject"]["namespace"] = "elsewhere";
  const Reply reply = TheApi().Post("/api/v1/namespaces/" + ns.name() + "/events", event);
  EXPECT_EQ(reply.code, 422) << reply.text;
  EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), "involvedObject.namespace");
}

}  // namespace
}  // namespace galen::contract
