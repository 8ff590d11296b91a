// What kubectl get shows: tables, and objects reduced to their metadata.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

Json TableAt(const std::string& path) {
  return TheApi().Send("GET", path, {}, kJson, {{"accept", kTable}}).body;
}

// The cell of a table's first row under a column, or null.
Json Cell(const Json& table, std::string_view column) {
  const Json::Array& columns = table["columnDefinitions"].items();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]["name"].AsString() == column) return table["rows"][0]["cells"][i];
  }
  return nullptr;
}

TEST(Table, OfPodsSaysReadyStatusAndRestarts) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Patch(ns.Pod("a") + "/status", kStrategicPatch, R"({"status": {"phase": "Running",
      "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
      "containerStatuses": [{"name": "main", "ready": true, "restartCount": 3,
        "image": "i", "imageID": "", "state": {"running": {}}}]}})");
  const Json table = TableAt(ns.Pods());
  EXPECT_EQ(table["kind"].AsString(), "Table");
  EXPECT_EQ(table["apiVersion"].AsString(), "meta.k8s.io/v1");
  EXPECT_EQ(Cell(table, "Name").AsString(), "a");
  EXPECT_EQ(Cell(table, "Ready").AsString(), "1/1");
  EXPECT_EQ(Cell(table, "Status").AsString(), "Running");
  EXPECT_EQ(Cell(table, "IP").AsString(), "10.1.2.3");
  EXPECT_EQ(Cell(table, "Node").AsString(), "<none>");
  const Json& restarts = Cell(table, "Restarts");
  EXPECT_EQ(restarts.is_int() ? std::to_string(restarts.AsInt()) : restarts.AsString(), "3");
  EXPECT_EQ(table["rows"][0]["object"]["kind"].AsString(), "PartialObjectMetadata");
}

TEST(Table, ShowsWhyAContainerWaits) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Patch(ns.Pod("a") + "/status", kStrategicPatch, R"({"status": {
      "containerStatuses": [{"name": "main", "ready": false, "restartCount": 0, "image": "i",
        "imageID": "", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})");
  EXPECT_EQ(Cell(TableAt(ns.Pods()), "Status").AsString(), "CrashLoopBackOff");
  EXPECT_EQ(Cell(TableAt(ns.Pods()), "Ready").AsString(), "0/1");
}

TEST(Table, OfOneObjectHasOneRow) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Post(ns.Pods(), MakePod("b"));
  EXPECT_EQ(TableAt(ns.Pod("b"))["rows"].items().size(), 1u);
}

TEST(Table, CarriesWholeObjectsWhenAsked) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Json table = TableAt(ns.Pods() + "?includeObject=Object");
  EXPECT_EQ(table["rows"][0]["object"]["spec"]["schedulerName"].AsString(), "nobody");
}

TEST(Table, OfClaimsSaysTheirState) {
  const Namespace ns;
  TheApi().Post(ns.Claims(), ToJson(R"({"metadata": {"name": "c"}, "spec": {"devices": {
      "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}})"));
  EXPECT_EQ(Cell(TableAt(ns.Claims()), "State").AsString(), "pending");
}

TEST(Table, OfSlicesSaysNodeDriverAndPool) {
  const std::string name = FreshName("slice");
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  Json slice = ToJson(R"({"spec": {"driver": "gpu.example.com", "nodeName": "node-1",
      "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}})");
  slice["metadata"]["name"] = name;
  ASSERT_EQ(TheApi().Post(slices, slice).code, 201);
  const Json table = TableAt(slices + "/" + name);
  EXPECT_EQ(Cell(table, "Node").AsString(), "node-1");
  EXPECT_EQ(Cell(table, "Driver").AsString(), "gpu.example.com");
  EXPECT_EQ(Cell(table, "Pool").AsString(), "p");
  TheApi().Delete(slices + "/" + name);
}

TEST(Table, ShowsHowAPodEnds) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["metadata"]["finalizers"] = Json::MakeArray({"example.com/one"});
  TheApi().Post(ns.Pods(), pod);
  TheApi().Patch(ns.Pod("a") + "/status", kStrategicPatch, R"({"status": {"phase": "Failed",
      "reason": "Evicted"}})");
  EXPECT_EQ(Cell(TableAt(ns.Pods()), "Status").AsString(), "Evicted");
  TheApi().Patch(ns.Pod("a") + "/status", kStrategicPatch, R"({"status": {"phase": "Running",
      "reason": null}})");
  TheApi().Delete(ns.Pod("a"));
  EXPECT_EQ(Cell(TableAt(ns.Pods()), "Status").AsString(), "Terminating");
  TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"finalizers": null}})");
}

TEST(Table, IsAlsoWatched) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const auto watch = TheApi().StartWatch(ns.Pods() + "?watch=true", {{"accept", kTable}});
  const std::optional<Json> event = watch->Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ((*event)["type"].AsString(), "ADDED");
  EXPECT_EQ((*event)["object"]["kind"].AsString(), "Table");
  EXPECT_EQ((*event)["object"]["rows"][0]["cells"][0].AsString(), "a");
}

TEST(Metadata, IsAllOfAnObjectThatIsShown) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const net::Headers accept{
      {"accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}};
  const Json list = TheApi().Send("GET", ns.Pods(), {}, kJson, accept).body;
  EXPECT_EQ(list["kind"].AsString(), "PartialObjectMetadataList");
  EXPECT_EQ(list["items"][0]["metadata"]["name"].AsString(), "a");
  EXPECT_FALSE(list["items"][0].Has("spec"));
}

TEST(Accept, WithoutAKnownFormatIsNotAcceptable) {
  const Namespace ns;
  EXPECT_EQ(TheApi().Send("GET", ns.Pods(), {}, kJson, {{"accept", "image/png"}}).code, 406);
}

TEST(Discovery, NamesGroupsVersionsAndResources) {
  const Json core = TheApi().Get("/api/v1").body;
  EXPECT_EQ(core["kind"].AsString(), "APIResourceList");
  std::map<std::string, Json> resources;
  for (const Json& resource : core["resources"].items()) {
    resources[resource["name"].AsString()] = resource;
  }
  EXPECT_EQ(resources["pods"]["shortNames"][0].AsString(), "po");
  EXPECT_TRUE(resources["pods"]["namespaced"].AsBool());
  EXPECT_TRUE(resources.contains("pods/status"));
  EXPECT_EQ(resources["pods/eviction"]["kind"].AsString(), "Eviction");
  const Json group = TheApi().Get("/apis/resource.k8s.io").body;
  EXPECT_EQ(group["kind"].AsString(), "APIGroup");
  EXPECT_EQ(group["preferredVersion"]["version"].AsString(), "v1");
}

TEST(Discovery, ComesAggregatedWhenAsked) {
  const net::Headers accept{
      {"accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}};
  const Reply reply = TheApi().Send("GET", "/apis", {}, kJson, accept);
  EXPECT_EQ(reply.body["kind"].AsString(), "APIGroupDiscoveryList");
  bool found = false;
  for (const Json& group : reply.body["items"].items()) {
    if (group["metadata"]["name"].AsString() != "resource.k8s.io") continue;
    for (const Json& resource : group["versions"][0]["resources"].items()) {
      found = found || resource["resource"].AsString() == "resourceclaims";
    }
  }
  EXPECT_TRUE(found);
}

TEST(Server, SaysItsVersionAndThatItIsWell) {
  EXPECT_EQ(TheApi().Get("/version").body["major"].AsString(), "1");
  for (const char* path : {"/healthz", "/readyz", "/livez"}) {
    EXPECT_EQ(TheApi().Get(path).text, "ok") << path;
  }
}

}  // namespace
}  // namespace galen::contract
