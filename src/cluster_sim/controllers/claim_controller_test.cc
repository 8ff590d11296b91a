#include "cluster_sim/controllers/claim_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/app/fake_cluster.h"

namespace galen::cluster_sim {
namespace {

using ::testing::StartsWith;

// One node with two GPUs, a class and a template.
class ClaimControllerTest : public ::testing::Test {
 protected:
  ClaimControllerTest() : cluster_({.nodes = {{.name = "node-1"}}}) {
    cluster_.AddClass("gpu", "gpu.example.com");
    cluster_.AddSlice(api_sim::FakeSlice("gpu.example.com", "node-1", {"gpu-0", "gpu-1"}));
    cluster_.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("one", "gpu"));
  }
  void AddPod(const Json& pod) {
    cluster_.Create(kube::kPods, pod);
    cluster_.Pass();
  }
  // What the only generated claim is called; "" when there is none.
  std::string GeneratedClaim() {
    for (const Json& claim : cluster_.List(kube::kResourceClaims)) {
      if (api_sim::OwnerPod(claim) != nullptr) return api_sim::KeyOf(claim).name;
    }
    return "";
  }

  FakeCluster cluster_;
};

TEST_F(ClaimControllerTest, MakesTheClaimOfAPodFromItsTemplateAndSaysItsName) {
  AddPod(api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "one"));
  const std::string name = GeneratedClaim();
  EXPECT_THAT(name, StartsWith("train-gpu-"));
  const Json claim = cluster_.Claim(name);
  const Json pod = cluster_.Pod("train");
  EXPECT_EQ((*api_sim::OwnerPod(claim))["uid"].AsString(), api_sim::UidOf(pod));
  EXPECT_EQ(claim["metadata"]["annotations"][api_sim::kPodClaimName].AsString(), "gpu");
  EXPECT_EQ(api_sim::PodClaims(pod).at(0).object_name, name);
}

TEST_F(ClaimControllerTest, WaitsForATemplateAndSaysSo) {
  AddPod(api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "two"));
  EXPECT_EQ(GeneratedClaim(), "");
  EXPECT_TRUE(cluster_.HasEvent("FailedResourceClaimCreation", "train"));
  cluster_.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("two", "gpu", 2));
  cluster_.Pass();
  EXPECT_NE(GeneratedClaim(), "");
  EXPECT_EQ(cluster_.Pod("train")["status"]["phase"].AsString(), "Running");
}

TEST_F(ClaimControllerTest, TwoEntriesOfOneTemplateGetTwoClaims) {
  AddPod(api_sim::WithTemplate(api_sim::WithTemplate(api_sim::FakePod("train"), "a", "one"), "b",
                               "one"));
  EXPECT_EQ(cluster_.List(kube::kResourceClaims).size(), 2U);
  EXPECT_EQ(cluster_.Pod("train")["status"]["phase"].AsString(), "Running");
}

TEST_F(ClaimControllerTest, AGeneratedClaimGoesWithItsPod) {
  AddPod(api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "one"));
  ASSERT_NE(GeneratedClaim(), "");
  cluster_.Delete(kube::kPods, "train", "default");
  cluster_.Pass();
  EXPECT_TRUE(cluster_.Pod("train").is_null());
  EXPECT_EQ(GeneratedClaim(), "");
}

TEST_F(ClaimControllerTest, AGeneratedClaimGoesWhenItsPodEnded) {
  Json pod = api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "one");
  pod["spec"]["restartPolicy"] = "Never";
  AddPod(pod);
  cluster_.app().nodes().Crash({"default", "train"}, "main", 1);
  cluster_.Pass();
  EXPECT_EQ(cluster_.Pod("train")["status"]["phase"].AsString(), "Failed");
  EXPECT_EQ(GeneratedClaim(), "");
}

TEST_F(ClaimControllerTest, ANamedClaimStaysAndGivesItsDevicesBackAfterItsLastPod) {
  cluster_.Create(kube::kResourceClaims, api_sim::FakeClaim("shared", "gpu"));
  AddPod(api_sim::WithClaim(api_sim::FakePod("a"), "gpu", "shared"));
  AddPod(api_sim::WithClaim(api_sim::FakePod("b"), "gpu", "shared"));
  ASSERT_EQ(api_sim::Holders(cluster_.Claim("shared")).size(), 2U);
  cluster_.Delete(kube::kPods, "a", "default");
  cluster_.Pass();
  EXPECT_EQ(api_sim::Holders(cluster_.Claim("shared")).size(), 1U);
  EXPECT_FALSE(cluster_.Claim("shared")["status"]["allocation"].is_null());
  cluster_.Delete(kube::kPods, "b", "default");
  cluster_.Pass();
  const Json claim = cluster_.Claim("shared");
  EXPECT_TRUE(api_sim::Holders(claim).empty());
  EXPECT_TRUE(claim["status"]["allocation"].is_null());
  EXPECT_FALSE(api_sim::HasFinalizer(claim, api_sim::kDeleteProtection));
}

TEST_F(ClaimControllerTest, AClaimInUseIsOnlyGoneAfterItsPod) {
  cluster_.Create(kube::kResourceClaims, api_sim::FakeClaim("shared", "gpu"));
  AddPod(api_sim::WithClaim(api_sim::FakePod("a"), "gpu", "shared"));
  cluster_.Delete(kube::kResourceClaims, "shared", "default");
  cluster_.Pass();
  EXPECT_TRUE(api_sim::IsBeingDeleted(cluster_.Claim("shared")));
  cluster_.Delete(kube::kPods, "a", "default");
  cluster_.Pass();
  EXPECT_TRUE(cluster_.Claim("shared").is_null());
}

TEST_F(ClaimControllerTest, APodOfTheSameNameGetsAClaimOfItsOwn) {
  AddPod(api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "one"));
  const std::string first = GeneratedClaim();
  cluster_.Delete(kube::kPods, "train", "default");
  cluster_.Pass();
  AddPod(api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "one"));
  EXPECT_NE(GeneratedClaim(), "");
  EXPECT_NE(GeneratedClaim(), first);
}

TEST_F(ClaimControllerTest, NothingIsWrittenWhileNothingChanges) {
  AddPod(api_sim::WithTemplate(api_sim::FakePod("train"), "gpu", "one"));
  cluster_.Pass(std::chrono::seconds(10));
  const std::string before = cluster_.Do(kube::List(kube::kPods, "", {}))
                                 .value()["metadata"]["resourceVersion"]
                                 .AsString();
  cluster_.Pass(std::chrono::minutes(10));
  EXPECT_EQ(cluster_.Do(kube::List(kube::kPods, "", {}))
                .value()["metadata"]["resourceVersion"]
                .AsString(),
            before);
}

TEST(GeneratedClaimName, IsTheSameForTheSamePodAndFitsALabel) {
  Json pod = api_sim::FakePod(std::string(63, 'p'));
  const std::string name = GeneratedClaimName(pod, "gpu");
  EXPECT_EQ(name, GeneratedClaimName(pod, "gpu"));
  EXPECT_NE(name, GeneratedClaimName(pod, "nic"));
  EXPECT_LE(name.size(), 63U);
  pod["metadata"]["uid"] = "another";
  EXPECT_NE(name, GeneratedClaimName(pod, "gpu"));
}

}  // namespace
}  // namespace galen::cluster_sim
