#include "api_sim/objects/pod_facts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"

namespace galen::api_sim {
namespace {

TEST(PodFacts, APodIsDoneWhenItEndedOrWasDeletedBeforeItGotANode) {
  Json pod = FakePod("a");
  EXPECT_FALSE(IsPodDone(pod));
  pod["metadata"]["deletionTimestamp"] = "2026-11-21T14:02:11Z";
  EXPECT_TRUE(IsPodDone(pod));
  pod["spec"]["nodeName"] = "node-1";
  EXPECT_FALSE(IsPodDone(pod));
  pod["status"]["phase"] = "Failed";
  EXPECT_TRUE(IsPodDone(pod));
}

TEST(PodFacts, APodsClaimsAreNamedBySpecOrStatus) {
  Json pod = WithTemplate(WithClaim(FakePod("a"), "shared", "big"), "own", "small");
  const auto before = PodClaims(pod);
  EXPECT_EQ(before.at(0).object_name, "big");
  EXPECT_FALSE(before.at(0).from_template());
  EXPECT_EQ(before.at(1).object_name, std::nullopt);
  EXPECT_EQ(before.at(1).template_name, "small");
  pod["status"]["resourceClaimStatuses"] = Yaml("[{name: own, resourceClaimName: a-own-x}]");
  EXPECT_EQ(PodClaims(pod).at(1).object_name, "a-own-x");
}

TEST(PodFacts, AStatusWithoutANameMeansThatNoClaimIsNeeded) {
  Json pod = WithTemplate(FakePod("a"), "own", "small");
  EXPECT_FALSE(PodClaims(pod).at(0).not_needed);
  pod["status"]["resourceClaimStatuses"] = Yaml("[{name: own}]");
  EXPECT_TRUE(PodClaims(pod).at(0).not_needed);
}

TEST(PodFacts, OnlyAControllingPodOwnsAClaim) {
  Json claim = FakeClaim("c", "gpu");
  EXPECT_EQ(OwnerPod(claim), nullptr);
  claim["metadata"]["ownerReferences"] = Yaml(R"([{apiVersion: v1, kind: Pod, name: x, uid: u1},
      {apiVersion: v1, kind: Pod, name: y, uid: u2, controller: true}])");
  ASSERT_NE(OwnerPod(claim), nullptr);
  EXPECT_EQ((*OwnerPod(claim))["uid"].AsString(), "u2");
}

TEST(PodFacts, HoldersArePodsOfTheClaimsNamespace) {
  Json claim = FakeClaim("c", "gpu");
  claim["status"]["reservedFor"] = Yaml(R"([{resource: pods, name: a, uid: u1},
      {apiGroup: x.io, resource: podgroups, name: g, uid: u2}])");
  const std::vector<PodRef> expected{{{"default", "a"}, "u1"}};
  EXPECT_EQ(Holders(claim), expected);
}

TEST(PodFacts, AClaimOfAPodGroupIsForItsPods) {
  Json claim = FakeClaim("c", "gpu");
  claim["status"]["reservedFor"] = Yaml(R"([{resource: pods, name: a, uid: u1},
      {apiGroup: scheduling.k8s.io, resource: podgroups, name: gang, uid: u2}])");
  Json pod = FakePod("b");
  EXPECT_FALSE(IsReservedForPodOrItsGroup(claim, pod));
  pod["spec"]["schedulingGroup"]["podGroupName"] = "others";
  EXPECT_FALSE(IsReservedForPodOrItsGroup(claim, pod));
  pod["spec"]["schedulingGroup"]["podGroupName"] = "gang";
  EXPECT_TRUE(IsReservedForPodOrItsGroup(claim, pod));
  Json named = FakePod("a");
  named["metadata"]["uid"] = "u1";
  EXPECT_TRUE(IsReservedForPodOrItsGroup(claim, named));
}

TEST(PodFacts, VersionsAreNumbersAndZeroWhenThereIsNone) {
  Json pod = FakePod("a");
  EXPECT_EQ(ResourceVersionOf(pod), 0U);
  pod["metadata"]["resourceVersion"] = "1204";
  EXPECT_EQ(ResourceVersionOf(pod), 1204U);
}

TEST(PodFacts, FindsAConditionByItsType) {
  const Json conditions = Yaml("[{type: A, status: 'True'}, {type: B, status: 'False'}]");
  EXPECT_EQ(FindCondition(conditions, "B")["status"].AsString(), "False");
  EXPECT_TRUE(FindCondition(conditions, "C").is_null());
}

TEST(PodFacts, APodHasEndedOnceItNeverRunsAgain) {
  for (const char* phase : {"Succeeded", "Failed"}) {
    EXPECT_TRUE(HasPodEnded(Yaml(fmt::format("{{status: {{phase: \"{}\"}}}}", phase))));
  }
  for (const char* phase : {"Pending", "Running", "Unknown", ""}) {
    EXPECT_FALSE(HasPodEnded(Yaml(fmt::format("{{status: {{phase: \"{}\"}}}}", phase))));
  }
}

}  // namespace
}  // namespace galen::api_sim
