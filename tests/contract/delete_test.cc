// How objects end: at once, after their grace, after their finalizers, with their namespace.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

// Binds the Pod to a node that does not exist, so that nobody ends it but us. Each has a name of
// its own: of a node that was missed for 40 s the garbage collector removes Pods at once
// (pkg/controller/podgc). Waits until the server's watch cache has the binding: a real one tries a
// deletion on the cached Pod first, and the grace of zero that a Pod without a node has stays in
// the options when it tries the Pod as it is (CheckGracefulDelete in
// pkg/registry/core/pod/strategy.go).
void Bind(const Namespace& ns, std::string_view pod) {
  Json binding = ToJson(R"({"apiVersion": "v1", "kind": "Binding",
      "target": {"apiVersion": "v1", "kind": "Node", "name": ""}})");
  binding["target"]["name"] = "no-such-node-" + ns.name();
  binding["metadata"]["name"] = pod;
  ASSERT_EQ(TheApi().Post(ns.Pod(pod) + "/binding", binding).code, 201);
  const Json bound = TheApi().Get(ns.Pod(pod)).body;
  const std::string version = bound["metadata"]["resourceVersion"].AsString();
  ASSERT_EQ(TheApi().Get(ns.Pod(pod) + "?resourceVersion=" + version).code, 200);
}

TEST(Delete, RemovesAndSaysWhat) {
  const Namespace ns;
  const Json map = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a")).body;
  const Reply reply = TheApi().Delete(ns.ConfigMap("a"));
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["kind"].AsString(), "Status");
  EXPECT_EQ(reply.body["status"].AsString(), "Success");
  EXPECT_EQ(reply.body["details"]["name"].AsString(), "a");
  EXPECT_EQ(reply.body["details"]["kind"].AsString(), "configmaps");
  EXPECT_EQ(reply.body["details"]["uid"], map["metadata"]["uid"]);
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 404);
  EXPECT_EQ(TheApi().Delete(ns.ConfigMap("a")).code, 404);
}

TEST(Delete, OfAPodOnNoNodeIsImmediate) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply reply = TheApi().Delete(ns.Pod("a"));
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["kind"].AsString(), "Pod");
  EXPECT_TRUE(reply.body["metadata"].Has("deletionTimestamp"));
  EXPECT_EQ(reply.body["metadata"]["deletionGracePeriodSeconds"].AsInt(), 0);
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).code, 404);
}

TEST(Delete, OfAPodWithAFinalizerMarksItWithNoGrace) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["metadata"]["finalizers"] = Json::MakeArray({"example.com/one"});
  TheApi().Post(ns.Pods(), pod);
  EXPECT_EQ(TheApi().Delete(ns.Pod("a")).code, 200);
  const Json meta = TheApi().Get(ns.Pod("a")).body["metadata"];
  EXPECT_TRUE(meta.Has("deletionTimestamp"));
  EXPECT_EQ(meta["deletionGracePeriodSeconds"].AsInt(), 0);
  EXPECT_EQ(TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"finalizers": null}})").code,
            200);
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).code, 404);
}

TEST(Delete, WaitsForGraceAndFinalizersBoth) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["metadata"]["finalizers"] = Json::MakeArray({"example.com/one"});
  TheApi().Post(ns.Pods(), pod);
  Bind(ns, "a");
  TheApi().Delete(ns.Pod("a"));
  TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"finalizers": null}})");
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).body["metadata"]["deletionGracePeriodSeconds"].AsInt(), 30);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).code, 404);
}

TEST(Delete, NoFinalizerIsAddedToWhatIsEnding) {
  const Namespace ns;
  Json map = MakeConfigMap("a");
  map["metadata"]["finalizers"] = Json::MakeArray({"example.com/one"});
  TheApi().Post(ns.ConfigMaps(), map);
  TheApi().Delete(ns.ConfigMap("a"));
  const Reply reply = TheApi().Patch(ns.ConfigMap("a"), kJsonPatch, R"([
      {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/two"}])");
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), "metadata.finalizers");
  TheApi().Patch(ns.ConfigMap("a"), kMergePatch, R"({"metadata": {"finalizers": null}})");
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 404);
}

TEST(Delete, OfAPodOnANodeWaitsForItsGrace) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  const Reply reply = TheApi().Delete(ns.Pod("a"));
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["kind"].AsString(), "Pod");
  const Json meta = TheApi().Get(ns.Pod("a")).body["metadata"];
  EXPECT_EQ(meta["deletionGracePeriodSeconds"].AsInt(), 30);
  EXPECT_GT(meta["deletionTimestamp"].AsString(), meta["creationTimestamp"].AsString());
  EXPECT_EQ(TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})")).code, 200);
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).code, 404);
}

TEST(Delete, AgainMayShortenTheGraceButNotLengthenIt) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  const auto grace = [&] {
    return TheApi().Get(ns.Pod("a")).body["metadata"]["deletionGracePeriodSeconds"].AsInt();
  };
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 20})"));
  EXPECT_EQ(grace(), 20);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 25})"));
  EXPECT_EQ(grace(), 20);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 10})"));
  EXPECT_EQ(grace(), 10);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
}

TEST(Delete, ChecksItsPreconditions) {
  const Namespace ns;
  const Json map = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a")).body;
  const Reply other = TheApi().Delete(
      ns.ConfigMap("a"),
      ToJson(R"({"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}})"));
  EXPECT_EQ(other.code, 409);
  EXPECT_EQ(other.reason(), "Conflict");
  Json options = ToJson("{}");
  options["preconditions"]["uid"] = map["metadata"]["uid"];
  EXPECT_EQ(TheApi().Delete(ns.ConfigMap("a"), options).code, 200);
}

TEST(Delete, WaitsForTheLastFinalizer) {
  const Namespace ns;
  Json map = MakeConfigMap("a");
  map["metadata"]["finalizers"] = Json::MakeArray({"example.com/one"});
  TheApi().Post(ns.ConfigMaps(), map);
  EXPECT_EQ(TheApi().Delete(ns.ConfigMap("a")).code, 200);
  const Json waiting = TheApi().Get(ns.ConfigMap("a")).body;
  EXPECT_TRUE(waiting["metadata"].Has("deletionTimestamp"));
  EXPECT_EQ(
      TheApi().Patch(ns.ConfigMap("a"), kMergePatch, R"({"metadata": {"finalizers": null}})").code,
      200);
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 404);
}

TEST(Delete, OfACollectionTakesWhatIsSelected) {
  const Namespace ns;
  Json gone = MakePod("gone");
  gone["metadata"]["labels"]["end"] = "yes";
  TheApi().Post(ns.Pods(), gone);
  TheApi().Post(ns.Pods(), MakePod("stays"));
  EXPECT_EQ(TheApi().Delete(ns.Pods() + "?labelSelector=end%3Dyes").code, 200);
  EXPECT_EQ(TheApi().Get(ns.Pod("gone")).code, 404);
  EXPECT_EQ(TheApi().Get(ns.Pod("stays")).code, 200);
}

TEST(Delete, DryRunDeletesNothing) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  EXPECT_EQ(TheApi().Delete(ns.ConfigMap("a") + "?dryRun=All").code, 200);
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 200);
}

TEST(Binding, SetsTheNodeOnce) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  const Json pod = TheApi().Get(ns.Pod("a")).body;
  EXPECT_EQ(pod["spec"]["nodeName"].AsString(), "no-such-node-" + ns.name());
  EXPECT_EQ(pod["status"]["conditions"][0]["type"].AsString(), "PodScheduled");
  Json binding = ToJson(R"({"target": {"kind": "Node", "name": "another"}})");
  binding["metadata"]["name"] = "a";
  EXPECT_EQ(TheApi().Post(ns.Pod("a") + "/binding", binding).code, 409);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
}

TEST(Eviction, DeletesThePodGracefullyAndSaysWhyOnIt) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  Json eviction = ToJson(R"({"apiVersion": "policy/v1", "kind": "Eviction"})");
  eviction["metadata"] = Json::MakeObject({{"name", "a"}, {"namespace", ns.name()}});
  EXPECT_EQ(TheApi().Post(ns.Pod("a") + "/eviction", eviction).code, 201);
  const Json pod = TheApi().Get(ns.Pod("a")).body;
  EXPECT_TRUE(pod["metadata"].Has("deletionTimestamp"));
  bool marked = false;
  for (const Json& condition : pod["status"]["conditions"].items()) {
    marked = marked || (condition["type"].AsString() == "DisruptionTarget" &&
                        condition["reason"].AsString() == "EvictionByEvictionAPI");
  }
  EXPECT_TRUE(marked);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
}

// A budget that allows no disruption.
void AddBudget(const Namespace& ns, const std::string& name, const Json& selector) {
  Json budget = ToJson(R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
      "spec": {"minAvailable": 1}})");
  budget["metadata"]["name"] = name;
  if (!selector.is_null()) budget["spec"]["selector"] = selector;
  const std::string path = "/apis/policy/v1/namespaces/" + ns.name() + "/poddisruptionbudgets";
  ASSERT_EQ(TheApi().Post(path, budget).code, 201);
}

Reply Evict(const Namespace& ns, const std::string& pod, const Json& options = {}) {
  Json eviction = ToJson(R"({"apiVersion": "policy/v1", "kind": "Eviction"})");
  eviction["metadata"] = Json::MakeObject({{"name", pod}, {"namespace", ns.name()}});
  if (!options.is_null()) eviction["deleteOptions"] = options;
  return TheApi().Post(ns.Pod(pod) + "/eviction", eviction);
}

// As its kubelet would say.
void SetPhase(const Namespace& ns, const std::string& pod, const std::string& phase) {
  const Json status = Json::MakeObject({{"phase", phase}});
  ASSERT_EQ(TheApi()
                .Patch(ns.Pod(pod) + "/status", kStrategicPatch,
                       Json::MakeObject({{"status", status}}).Dump())
                .code,
            200);
}

TEST(Eviction, OfAnotherPodOfThatNameMarksNothing) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  const Reply refused = Evict(
      ns, "a", ToJson(R"({"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}})"));
  EXPECT_EQ(refused.code, 409);
  const Json pod = TheApi().Get(ns.Pod("a")).body;
  for (const Json& condition : pod["status"]["conditions"].items()) {
    EXPECT_NE(condition["type"].AsString(), "DisruptionTarget");
  }
  EXPECT_FALSE(pod["metadata"].Has("deletionTimestamp"));
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
}

TEST(Eviction, OfTheVersionThatWasReadMarksThePodToo) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  Json options = ToJson("{}");
  options["preconditions"]["resourceVersion"] =
      TheApi().Get(ns.Pod("a")).body["metadata"]["resourceVersion"];
  EXPECT_EQ(Evict(ns, "a", options).code, 201);
  const Reply pod = TheApi().Get(ns.Pod("a"));
  EXPECT_TRUE(pod.body["metadata"].Has("deletionTimestamp"));
  EXPECT_NE(pod.text.find("DisruptionTarget"), std::string::npos);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
}

TEST(Eviction, ABudgetGuardsWhatItSelectsWhileItRuns) {
  const Namespace ns;
  AddBudget(ns, "all", Json::Object{});
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  SetPhase(ns, "a", "Running");
  EXPECT_EQ(Evict(ns, "a").code, 429);
  SetPhase(ns, "a", "Failed");
  EXPECT_EQ(Evict(ns, "a").code, 201);
  TheApi().Post(ns.Pods(), MakePod("pending"));
  EXPECT_EQ(Evict(ns, "pending").code, 201);
}

TEST(Eviction, ABudgetWithoutASelectorGuardsNothing) {
  const Namespace ns;
  AddBudget(ns, "none", Json());
  TheApi().Post(ns.Pods(), MakePod("a"));
  Bind(ns, "a");
  SetPhase(ns, "a", "Running");
  EXPECT_EQ(Evict(ns, "a").code, 201);
  TheApi().Delete(ns.Pod("a"), ToJson(R"({"gracePeriodSeconds": 0})"));
}

TEST(NamespaceDeletion, TakesItsContentAlongAndThenItself) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  const std::string path = "/api/v1/namespaces/" + ns.name();
  EXPECT_EQ(TheApi().Delete(path).code, 200);
  const Reply refused = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("late"));
  EXPECT_TRUE(refused.code == 403 || refused.code == 404) << refused.code;
  EXPECT_TRUE(
      TheApi().WaitUntil([&] { return TheApi().Get(path).code == 404; }, std::chrono::seconds(30)));
}

}  // namespace
}  // namespace galen::contract
