#include "conformance/cluster_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"
#include "conformance/fake_scene.h"

namespace galen::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClusterAccessTest : public ::testing::Test {
 protected:
  std::vector<Json> Claims() {
    return (*scene_.Do(kube::List(kube::kResourceClaims, "", {})))["items"].items();
  }

  FakeScene scene_;
  ClusterAccess cluster_{scene_.edges, "gpu.example.com", "t"};
};

TEST_F(ClusterAccessTest, MakesAClaimAllocatesItAndPutsItAway) {
  const StatusOr<ClaimRef> claim = cluster_.MakeClaim(TestAllocation{"device", "node-7", "gpu-1"});
  ASSERT_TRUE(claim.ok()) << claim.status().message();
  ASSERT_EQ(Claims().size(), 1u);
  const Json claim_now = Claims()[0];
  const Json& result = claim_now["status"]["allocation"]["devices"]["results"][0];
  EXPECT_EQ(result["driver"].AsString(), "gpu.example.com");
  EXPECT_EQ(result["device"].AsString(), "gpu-1");
  EXPECT_EQ(Claims()[0]["metadata"]["uid"].AsString(), claim->uid);
  EXPECT_TRUE(cluster_.PutAway().ok());
  EXPECT_THAT(Claims(), IsEmpty());
  EXPECT_TRUE(cluster_.RemoveClaim(*claim).ok()) << "gone already";
}

TEST_F(ClusterAccessTest, SaysWhereAClaimCouldNotBeMade) {
  ClusterAccess nowhere(scene_.edges, "gpu.example.com", "no-such-namespace");
  const StatusOr<ClaimRef> claim = nowhere.MakeClaim(std::nullopt);
  ASSERT_FALSE(claim.ok());
  EXPECT_THAT(claim.status().message(), HasSubstr("no-such-namespace"));
}

TEST_F(ClusterAccessTest, ListsTheDriversSlicesOnly) {
  scene_.Publish();
  EXPECT_EQ(cluster_.Slices()->size(), 1u);
  EXPECT_THAT(*ClusterAccess(scene_.edges, "nic.example.com", "t").Slices(), IsEmpty());
}

TEST_F(ClusterAccessTest, AFreeDeviceIsHeldByNoClaimAndNotTainted) {
  std::vector<Json> slices = {GoodSlice("a", "gpu-0"), GoodSlice("b", "gpu-1")};
  slices[0]["spec"]["devices"].MutableItems()[0]["taints"] =
      Json::MakeArray({Json::MakeObject({{"key", "a"}})});
  const auto find = [&](const std::vector<Json>& claims, const std::string& node) {
    return FindFreeDevice(slices, claims, "gpu.example.com", node);
  };
  EXPECT_EQ(find({}, "node-7")->device, "gpu-1");
  EXPECT_THAT(find({}, "node-8").status().message(), HasSubstr("no device on node node-8"));
  ASSERT_TRUE(cluster_.MakeClaim(TestAllocation{"device", "node-7", "gpu-1"}).ok());
  EXPECT_THAT(find(Claims(), "node-7").status().message(), HasSubstr("each of the 2 devices"));
}

TEST_F(ClusterAccessTest, TheNodeIsTheOneWhosePoolsAreReported) {
  std::vector<Json> slices = {GoodSlice("a", "gpu-0"), GoodSlice("b", "gpu-1")};
  EXPECT_EQ(NodeOf(slices, {}), "node-7");
  slices[1]["spec"]["nodeName"] = "node-8";
  slices[1]["spec"]["pool"]["name"] = "node-8";
  EXPECT_EQ(NodeOf(slices, {}), "");
  EXPECT_EQ(NodeOf(slices, GoodObservations().health), "node-7");
  EXPECT_EQ(NodeOf({}, {}), "");
}

}  // namespace
}  // namespace galen::conformance
