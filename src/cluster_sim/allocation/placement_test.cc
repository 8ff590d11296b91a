#include "cluster_sim/allocation/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "cluster_sim/allocation/test_devices.h"

namespace galen::cluster_sim {
namespace {

using ::testing::HasSubstr;

// Two nodes with two GPUs each.
class PlacementTest : public ::testing::Test {
 protected:
  std::map<ObjectKey, Json> nodes_ =
      api_sim::ByName({api_sim::FakeNode("node-1"), api_sim::FakeNode("node-2")});
  std::map<ObjectKey, Json> claims_;
  std::map<ObjectKey, Json> classes_ = api_sim::ByName({api_sim::FakeClass("gpu", "gpu")});
  std::map<ObjectKey, Json> slices_ =
      api_sim::ByName({api_sim::FakeSlice("gpu", "node-1", {"a", "b"}),
                       api_sim::FakeSlice("gpu", "node-2", {"c", "d"})});
  std::set<std::string> in_use_;
  std::map<std::string, std::size_t> pods_on_;

  StatusOr<Placement> PlaceIt(const Json& pod) {
    DeviceBook devices(slices_, {}, classes_, claims_);
    for (const auto& [key, slice] : slices_) {
      for (const Json& device : slice["spec"]["devices"].items()) {
        const std::string& name = device["name"].AsString();
        if (in_use_.contains(name)) devices.Hold(AllocationOf(slice, name));
      }
    }
    return Place(pod, {.nodes = nodes_,
                       .claims = claims_,
                       .classes = classes_,
                       .devices = devices,
                       .allocation_of = [](const Json& claim) -> const Json& {
                         return claim["status"]["allocation"];
                       },
                       .pods_on = [this](const std::string& node) { return pods_on_[node]; }});
  }
  std::string NodeFor(const Json& pod) {
    const StatusOr<Placement> placement = PlaceIt(pod);
    return placement.ok() ? placement->node : placement.status().message();
  }
  Json& Node(const std::string& name) { return nodes_.at({"", name}); }
  void Add(const Json& claim) {
    claims_[{"default", claim["metadata"]["name"].AsString()}] = claim;
  }
  static Json PodWithClaim() { return api_sim::WithClaim(api_sim::FakePod("p"), "gpu", "c"); }
};

TEST_F(PlacementTest, TheFirstNodeWillDoForAPodWithoutClaims) {
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "node-1");
}

TEST_F(PlacementTest, NodesThatTakeNobodyArePassedBy) {
  Node("node-1")["spec"]["unschedulable"] = true;
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "node-2");
  Node("node-2")["status"]["conditions"].MutableItems()[0]["status"] = "Unknown";
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "0/2 nodes are available: 1: cordoned; 1: not ready");
}

TEST_F(PlacementTest, AClusterWithoutNodesSaysSoAsKubeSchedulerDoes) {
  nodes_.clear();
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "no nodes available to schedule pods");
}

TEST_F(PlacementTest, TaintsOfNodesNeedATolerationOfThePod) {
  Node("node-1")["spec"]["taints"] = api_sim::Yaml("[{key: k, effect: NoSchedule}]");
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "node-2");
  Json tolerating = api_sim::FakePod("p");
  tolerating["spec"]["tolerations"] = api_sim::Yaml("[{key: k, operator: Exists}]");
  EXPECT_EQ(NodeFor(tolerating), "node-1");
}

TEST_F(PlacementTest, ThePodSelectsNodesByLabelsOrAffinity) {
  Node("node-2")["metadata"]["labels"] = api_sim::Yaml("{zone: b}");
  Json by_label = api_sim::FakePod("p");
  by_label["spec"]["nodeSelector"] = api_sim::Yaml("{zone: b}");
  EXPECT_EQ(NodeFor(by_label), "node-2");
  Json by_affinity = api_sim::FakePod("p");
  by_affinity["spec"]["affinity"] = api_sim::Yaml(R"({nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
      {matchExpressions: [{key: zone, operator: In, values: [c]}]}]}}})");
  EXPECT_THAT(NodeFor(by_affinity), HasSubstr("not among the nodes the Pod selects"));
}

TEST_F(PlacementTest, AFullNodeTakesNoMorePods) {
  Node("node-1")["status"]["allocatable"] = api_sim::Yaml("{pods: '2'}");
  pods_on_["node-1"] = 1;
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "node-1");
  pods_on_["node-1"] = 2;
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "node-2");
  Node("node-1")["status"]["allocatable"] = api_sim::Yaml("{pods: 2k}");
  EXPECT_EQ(NodeFor(api_sim::FakePod("p")), "node-1");
}

TEST_F(PlacementTest, ThePodGoesWhereItsClaimFits) {
  Add(api_sim::FakeClaim("c", "gpu", 2));
  in_use_ = {"b"};
  const Placement placement = PlaceIt(PodWithClaim()).value();
  EXPECT_EQ(placement.node, "node-2");
  ASSERT_EQ(placement.claims.size(), 1U);
  EXPECT_EQ(HeldDevices(placement.claims[0].allocation).size(), 2U);
}

TEST_F(PlacementTest, AllClaimsMustFitOnTheSameNode) {
  Add(api_sim::FakeClaim("c", "gpu"));
  Add(api_sim::FakeClaim("e", "gpu", 2));
  in_use_ = {"a"};
  EXPECT_THAT(NodeFor(api_sim::WithClaim(PodWithClaim(), "more", "e")),
              HasSubstr("0/2 nodes are available"));
  in_use_ = {};
  slices_ = api_sim::ByName({api_sim::FakeSlice("gpu", "node-1", {"a", "b"}),
                             api_sim::FakeSlice("gpu", "node-2", {"c", "d", "e"})});
  EXPECT_EQ(NodeFor(api_sim::WithClaim(PodWithClaim(), "more", "e")), "node-2");
}

TEST_F(PlacementTest, AnAllocatedClaimBringsItsPodsToItsNode) {
  Add(api_sim::FakeClaim("c", "gpu"));
  in_use_ = {"a", "b"};
  Json claim = api_sim::FakeClaim("c", "gpu");
  claim["status"]["allocation"] = PlaceIt(PodWithClaim()).value().claims[0].allocation;
  Add(claim);
  in_use_ = {"c"};
  const Placement placement = PlaceIt(PodWithClaim()).value();
  EXPECT_EQ(placement.node, "node-2");
  EXPECT_TRUE(placement.claims[0].allocation.is_null());
  nodes_.erase({"", "node-2"});
  EXPECT_THAT(NodeFor(PodWithClaim()), HasSubstr("allocated on another node"));
}

TEST_F(PlacementTest, ClaimsThatAreNotMadeYetAreWaitedFor) {
  const Status status = PlaceIt(api_sim::WithTemplate(api_sim::FakePod("p"), "gpu", "t")).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
}

TEST_F(PlacementTest, AClaimNamedByThePodMustExistAndStay) {
  EXPECT_EQ(NodeFor(PodWithClaim()), "resourceclaim \"c\" not found");
  Json leaving = api_sim::FakeClaim("c", "gpu");
  leaving["metadata"]["deletionTimestamp"] = "2026-11-21T14:02:11Z";
  Add(leaving);
  EXPECT_EQ(NodeFor(PodWithClaim()), "resourceclaim c is being deleted");
}

TEST_F(PlacementTest, AGeneratedClaimServesOnlyThePodItWasMadeFor) {
  Json pod = api_sim::WithTemplate(api_sim::FakePod("p"), "gpu", "t");
  pod["status"]["resourceClaimStatuses"] = api_sim::Yaml("[{name: gpu, resourceClaimName: c}]");
  Add(api_sim::FakeClaim("c", "gpu"));
  EXPECT_EQ(NodeFor(pod), "resourceclaim c was not made for this Pod");
  Json owned = api_sim::FakeClaim("c", "gpu");
  owned["metadata"]["ownerReferences"] =
      api_sim::Yaml("[{apiVersion: v1, kind: Pod, name: p, uid: uid-default-p, controller: true}]");
  Add(owned);
  EXPECT_EQ(NodeFor(pod), "node-1");
}

TEST_F(PlacementTest, AClaimTakesAtMost256Pods) {
  Json claim = api_sim::FakeClaim("c", "gpu");
  claim["status"]["reservedFor"] = Json(Json::Array{});
  for (int i = 0; i < 256; ++i) {
    claim["status"]["reservedFor"].Append(
        Json::MakeObject({{"resource", "pods"}, {"uid", std::to_string(i)}}));
  }
  Add(claim);
  EXPECT_THAT(NodeFor(PodWithClaim()), HasSubstr("reserved for 256 Pods already"));
}

TEST_F(PlacementTest, AnySelectorIsEvaluated) {
  Json second = api_sim::FakeClass("second", "");
  second["spec"]["selectors"] =
      api_sim::Yaml("[{cel: {expression: 'device.attributes[\"gpu\"].?index.orValue(0) == 2'}}]");
  classes_ = api_sim::ByName({second});
  slices_.at({"", "node-2-gpu"})["spec"]["devices"].MutableItems()[1]["attributes"] =
      api_sim::Yaml("{index: {int: 2}}");
  Add(api_sim::FakeClaim("c", "second"));
  const Placement placement = PlaceIt(PodWithClaim()).value();
  EXPECT_EQ(placement.node, "node-2");
  EXPECT_EQ(HeldDevices(placement.claims[0].allocation).at(0).device, "d");
}

TEST_F(PlacementTest, ASelectorThatCannotBeEvaluatedEndsTheAttempt) {
  Json careless = api_sim::FakeClass("careless", "");
  careless["spec"]["selectors"] =
      api_sim::Yaml("[{cel: {expression: 'device.attributes[\"gpu\"].index == 2'}}]");
  classes_ = api_sim::ByName({careless});
  Add(api_sim::FakeClaim("c", "careless"));
  const Status status = PlaceIt(PodWithClaim()).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no such key: index"));
}

TEST_F(PlacementTest, ASelectorThatFailsOnALaterNodeEndsTheAttemptToo) {
  Json careless = api_sim::FakeClass("careless", "");
  careless["spec"]["selectors"] =
      api_sim::Yaml("[{cel: {expression: 'device.attributes[\"gpu\"].index == 2'}}]");
  classes_ = api_sim::ByName({careless});
  for (Json& device : slices_.at({"", "node-1-gpu"})["spec"]["devices"].MutableItems()) {
    device["attributes"] = api_sim::Yaml("{index: {int: 2}}");
  }
  Add(api_sim::FakeClaim("c", "careless"));
  EXPECT_EQ(PlaceIt(PodWithClaim()).status().code(), Code::kInvalidArgument);
  Node("node-2")["spec"]["unschedulable"] = true;
  EXPECT_EQ(NodeFor(PodWithClaim()), "node-1") << "a node that the Pod may not use is not asked";
}

TEST_F(PlacementTest, TheReasonSaysHowManyDevicesFailedWhat) {
  Add(api_sim::FakeClaim("c", "gpu", 2));
  in_use_ = {"a", "c"};
  EXPECT_EQ(NodeFor(PodWithClaim()),
            "0/2 nodes are available: 2: claim c, request gpu: 2 wanted, 1 of 2 devices to be had "
            "(1 in use)");
}

TEST_F(PlacementTest, AMissingClassMayCome) {
  Add(api_sim::FakeClaim("c", "tpu"));
  const Status status = PlaceIt(PodWithClaim()).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("there is no DeviceClass tpu"));
}

TEST_F(PlacementTest, ManyDifferentReasonsAreCutShort) {
  nodes_.clear();
  for (int i = 0; i < 9; ++i) {
    Json node = api_sim::FakeNode("node-" + std::to_string(i));
    node["spec"]["taints"] =
        api_sim::Yaml("[{key: k" + std::to_string(i) + ", effect: NoSchedule}]");
    nodes_.emplace(ObjectKey{"", "node-" + std::to_string(i)}, node);
  }
  EXPECT_THAT(NodeFor(api_sim::FakePod("p")), HasSubstr("5 more reasons"));
}

}  // namespace
}  // namespace galen::cluster_sim
