// What happens to one object: names, versions, conflicts.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

TEST(Object, IsGivenItsIdentityByTheServer) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["metadata"]["uid"] = "mine";
  pod["metadata"]["creationTimestamp"] = "1999-01-01T00:00:00Z";
  const Reply created = TheApi().Post(ns.Pods(), pod);
  ASSERT_EQ(created.code, 201);
  const Json& meta = created.body["metadata"];
  EXPECT_NE(meta["uid"].AsString(), "mine");
  EXPECT_EQ(meta["uid"].AsString().size(), 36u);
  EXPECT_GT(meta["creationTimestamp"].AsString(), "2020");
  EXPECT_FALSE(meta["resourceVersion"].AsString().empty());
  EXPECT_EQ(meta["namespace"].AsString(), ns.name());
  EXPECT_EQ(TheApi().Get(ns.Pod("a")).body["metadata"]["uid"], meta["uid"]);
}

TEST(Object, MayHaveItsNameGenerated) {
  const Namespace ns;
  Json map = MakeConfigMap("");
  map["metadata"].Erase("name");
  map["metadata"]["generateName"] = "base-";
  const std::string first = TheApi().Post(ns.ConfigMaps(), map).body["metadata"]["name"].AsString();
  const std::string second =
      TheApi().Post(ns.ConfigMaps(), map).body["metadata"]["name"].AsString();
  EXPECT_EQ(first.substr(0, 5), "base-");
  EXPECT_EQ(first.size(), 10u);
  EXPECT_NE(first, second);
}

TEST(Object, AGeneratedNameIsCutToFit) {
  const Namespace ns;
  Json map = MakeConfigMap("");
  map["metadata"].Erase("name");
  map["metadata"]["generateName"] = std::string(62, 'x') + "-";
  const Reply reply = TheApi().Post(ns.ConfigMaps(), map);
  ASSERT_EQ(reply.code, 201) << reply.text;
  EXPECT_EQ(reply.body["metadata"]["name"].AsString().size(), 63u);
}

TEST(Object, ANameBesideAGeneratedOneWins) {
  const Namespace ns;
  Json map = MakeConfigMap("a");
  map["metadata"]["generateName"] = "base-";
  EXPECT_EQ(TheApi().Post(ns.ConfigMaps(), map).body["metadata"]["name"].AsString(), "a");
}

TEST(Object, EmptyListsAndMapsAreNotKept) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["metadata"]["labels"] = Json::Object();
  pod["metadata"]["finalizers"] = Json::Array();
  pod["spec"]["volumes"] = ToJson(R"([{"name": "v", "emptyDir": {}}])");
  pod["spec"]["containers"].MutableItems()[0]["env"] = Json::Array();
  const Json made = TheApi().Post(ns.Pods(), pod).body;
  EXPECT_FALSE(made["metadata"].Has("labels"));
  EXPECT_FALSE(made["metadata"].Has("finalizers"));
  EXPECT_FALSE(made["spec"]["containers"][0].Has("env"));
  EXPECT_TRUE(made["spec"]["volumes"][0].Has("emptyDir"));
}

TEST(Object, WithoutANameIsInvalid) {
  const Namespace ns;
  Json map = MakeConfigMap("");
  map["metadata"].Erase("name");
  const Reply reply = TheApi().Post(ns.ConfigMaps(), map);
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.reason(), "Invalid");
  EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), "metadata.name");
}

TEST(Object, WithAnImpossibleNameOrLabelIsInvalid) {
  const Namespace ns;
  EXPECT_EQ(TheApi().Post(ns.ConfigMaps(), MakeConfigMap("Not_A_Name")).code, 422);
  Json map = MakeConfigMap("a");
  map["metadata"]["labels"]["k"] = "not a value";
  EXPECT_EQ(TheApi().Post(ns.ConfigMaps(), map).code, 422);
}

TEST(Object, ExistsOnlyOnce) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  const Reply again = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  EXPECT_EQ(again.code, 409);
  EXPECT_EQ(again.reason(), "AlreadyExists");
}

TEST(Object, NeedsANamespaceThatExists) {
  const Reply reply =
      TheApi().Post("/api/v1/namespaces/no-such-namespace/configmaps", MakeConfigMap("a"));
  EXPECT_EQ(reply.code, 404);
  EXPECT_EQ(reply.body["details"]["kind"].AsString(), "namespaces");
}

TEST(Object, ThatIsNotThereIsAStatusWithDetails) {
  const Namespace ns;
  const Reply reply = TheApi().Get(ns.Claim("nothing"));
  EXPECT_EQ(reply.code, 404);
  EXPECT_EQ(reply.body["kind"].AsString(), "Status");
  EXPECT_EQ(reply.body["apiVersion"].AsString(), "v1");
  EXPECT_EQ(reply.body["status"].AsString(), "Failure");
  EXPECT_EQ(reply.body["code"].AsInt(), 404);
  EXPECT_EQ(reply.reason(), "NotFound");
  EXPECT_EQ(reply.body["message"].AsString(),
            "resourceclaims.resource.k8s.io \"nothing\" not found");
  EXPECT_EQ(reply.body["details"]["name"].AsString(), "nothing");
  EXPECT_EQ(reply.body["details"]["group"].AsString(), "resource.k8s.io");
  EXPECT_EQ(reply.body["details"]["kind"].AsString(), "resourceclaims");
}

TEST(Object, UpdateWithAnOldVersionConflicts) {
  const Namespace ns;
  const Json old = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1")).body;
  Json fresh = old;
  fresh["data"]["key"] = "2";
  ASSERT_EQ(TheApi().Put(ns.ConfigMap("a"), fresh).code, 200);
  Json late = old;
  late["data"]["key"] = "3";
  const Reply reply = TheApi().Put(ns.ConfigMap("a"), late);
  EXPECT_EQ(reply.code, 409);
  EXPECT_EQ(reply.reason(), "Conflict");
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).body["data"]["key"].AsString(), "2");
}

TEST(Object, UpdateWithoutAVersionWinsUnconditionally) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1"));
  EXPECT_EQ(TheApi().Put(ns.ConfigMap("a"), MakeConfigMap("a", "2")).code, 200);
}

TEST(Object, UpdateOfAnotherUidConflicts) {
  const Namespace ns;
  Json map = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a", "1")).body;
  map["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
  map["metadata"].Erase("resourceVersion");
  EXPECT_EQ(TheApi().Put(ns.ConfigMap("a"), map).code, 409);
}

TEST(Object, UpdateThatChangesNothingKeepsTheVersion) {
  const Namespace ns;
  const Json map = TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a")).body;
  const Reply reply = TheApi().Put(ns.ConfigMap("a"), map);
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["metadata"]["resourceVersion"], map["metadata"]["resourceVersion"]);
}

TEST(Object, UpdateUnderAnotherNameIsABadRequest) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  EXPECT_EQ(TheApi().Put(ns.ConfigMap("a"), MakeConfigMap("b")).code, 400);
}

TEST(Object, OfAnotherKindOrVersionIsABadRequest) {
  const Namespace ns;
  EXPECT_EQ(TheApi().Post(ns.ConfigMaps(), MakePod("a")).code, 400);
  Json map = MakeConfigMap("a");
  map["apiVersion"] = "v2";
  EXPECT_EQ(TheApi().Post(ns.ConfigMaps(), map).code, 400);
}

TEST(Object, ThatIsNoJsonIsABadRequest) {
  const Namespace ns;
  EXPECT_EQ(TheApi().Post(ns.ConfigMaps(), Json("text")).code, 400);
}

TEST(Object, DryRunChangesNothing) {
  const Namespace ns;
  const Reply reply = TheApi().Post(ns.ConfigMaps() + "?dryRun=All", MakeConfigMap("a"));
  EXPECT_EQ(reply.code, 201);
  EXPECT_FALSE(reply.body["metadata"]["uid"].AsString().empty());
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 404);
}

TEST(Object, UnknownFieldsAreDroppedOrRefusedAsAsked) {
  const Namespace ns;
  Json map = MakeConfigMap("a");
  map["bogus"] = 1;
  const Reply strict = TheApi().Post(ns.ConfigMaps() + "?fieldValidation=Strict", map);
  EXPECT_EQ(strict.code, 400);
  EXPECT_NE(strict.body["message"].AsString().find("unknown field \"bogus\""), std::string::npos);
  const Reply warned = TheApi().Post(ns.ConfigMaps() + "?fieldValidation=Warn", map);
  EXPECT_EQ(warned.code, 201);
  EXPECT_FALSE(warned.body.Has("bogus"));
  EXPECT_TRUE(net::FindHeader(warned.headers, "warning").has_value());
}

TEST(Object, DefaultsAreFilledIn) {
  const Namespace ns;
  const Json pod = TheApi().Post(ns.Pods(), MakePod("a")).body;
  EXPECT_EQ(pod["spec"]["restartPolicy"].AsString(), "Always");
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"].AsInt(), 30);
  EXPECT_EQ(pod["spec"]["containers"][0]["terminationMessagePath"].AsString(),
            "/dev/termination-log");
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Pending");
  EXPECT_EQ(pod["status"]["qosClass"].AsString(), "BestEffort");
}

TEST(Object, PodSpecMayChangeOnlyInAFewFields) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply refused =
      TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"spec": {"hostNetwork": true}})");
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(refused.body["details"]["causes"][0]["reason"].AsString(), "FieldValueForbidden");
  const Reply taken =
      TheApi().Patch(ns.Pod("a"), kStrategicPatch,
                     R"({"spec": {"containers": [{"name": "main", "image": "localhost/other"}]}})");
  EXPECT_EQ(taken.code, 200);
}

TEST(Object, PodWithoutContainersIsInvalid) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["spec"]["containers"] = Json::Array();
  const Reply reply = TheApi().Post(ns.Pods(), pod);
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"].AsString(), "FieldValueRequired");
  EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), "spec.containers");
}

}  // namespace
}  // namespace galen::contract
