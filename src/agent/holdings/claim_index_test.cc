#include "agent/holdings/claim_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"
#include "base/time.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using HolderKind = kube::Container::Kind;

DeviceId HeldGpu(int i) { return {"gpu.example.com", "node-1", "gpu-" + std::to_string(i)}; }
ObjectKey Key(const std::string& name) { return {"default", name}; }
WallTime At(int second) { return WallTime{} + std::chrono::seconds(second); }

class ClaimIndexTest : public ::testing::Test {
 protected:
  std::vector<HeldDevice> Held(const std::string& pod) {
    return DevicesOf(view_.pods.at(Key(pod)), view_, prepared_);
  }
  // "train claim:gpu/main" of each use of the Pod's only device.
  std::vector<std::string> Uses(const std::string& pod) {
    std::vector<std::string> uses;
    for (const HeldDevice& held : Held(pod)) {
      for (const ContainerUse& use : held.uses) uses.push_back(use.container + " " + use.entry);
    }
    return uses;
  }

  // A Pod of that name, which holds gpu-0.
  kube::Pod& Give(const std::string& name) {
    kube::Pod& pod = view_.AddPod(name);
    view_.AddClaim(name + "-gpu", {{"main", HeldGpu(0)}}, name);
    index_.PodChanged(Key(name));
    return pod;
  }
  void End(const std::string& name) {
    view_.pods.at(Key(name)).phase = "Failed";
    index_.PodChanged(Key(name));
  }
  void Remove(const std::string& name) {
    view_.pods.erase(Key(name));
    index_.PodChanged(Key(name));
  }

  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
};

TEST_F(ClaimIndexTest, ATemplatesClaimIsFoundByTheNameThatThePodsStatusGives) {
  Give("a");
  ASSERT_THAT(Held("a"), SizeIs(1));
  EXPECT_EQ(Held("a")[0].device, HeldGpu(0));
  EXPECT_EQ(Held("a")[0].claim, "a-gpu");
  EXPECT_EQ(Held("a")[0].resource_id, "gpu.example.com/node-1/gpu-0");
  EXPECT_THAT(Uses("a"), ElementsAre("train claim:gpu")) << "by the Pod's own name for the claim";
}

TEST_F(ClaimIndexTest, ANamedClaimIsFoundByItsName) {
  kube::Pod& pod = view_.AddPod("a");
  pod.claims = {{.name = "gpu", .claim_name = "shared"}};
  pod.claim_names.clear();
  view_.AddClaim("shared", {{"main", HeldGpu(0)}}, "a");
  EXPECT_THAT(Uses("a"), ElementsAre("train claim:gpu"));
}

TEST_F(ClaimIndexTest, WhatAPluginGaveIsHeldBesideTheClaimsDevices) {
  const HeldDevice plugins{.device = {"nvidia.com/gpu", "node-1", "GPU-1"},
                           .resource = "nvidia.com/gpu",
                           .resource_id = "GPU-1"};
  bool shown = false;
  ClaimIndex index(view_, prepared_, [&](const kube::Pod&) {
    return shown ? std::vector<HeldDevice>{plugins} : std::vector<HeldDevice>();
  });
  Give("a");
  kube::Pod& other = view_.AddPod("b");
  other.claims.clear();
  index.PodChanged(Key("a"));
  index.PodChanged(Key("b"));
  EXPECT_THAT(index.DevicesOf(Key("a")), SizeIs(1));
  EXPECT_EQ(index.pods(), 1u) << "of a Pod without any nothing is kept";
  shown = true;
  index.PodChanged(Key("a"));
  index.PodChanged(Key("b"));
  EXPECT_THAT(index.DevicesOf(Key("a")), SizeIs(2));
  EXPECT_THAT(index.DevicesOf(Key("b")), ElementsAre(plugins));
  EXPECT_THAT(index.PodsOf(plugins.device), ElementsAre(Key("a"), Key("b")));
  view_.pods.erase(Key("b"));
  index.PodChanged(Key("b"));
  EXPECT_THAT(index.PodsOf(plugins.device), ElementsAre(Key("a")));
}

TEST_F(ClaimIndexTest, APodHoldsNoMoreOfPluginsThanItsClaimsLeaveRoomFor) {
  std::vector<HeldDevice> many(ClaimIndex::kDevicesPerPodMax);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].device = {"x.com/many", "node-1", std::to_string(i)};
  }
  ClaimIndex index(view_, prepared_, [&](const kube::Pod&) { return many; });
  Give("a");
  index.PodChanged(Key("a"));
  EXPECT_THAT(index.DevicesOf(Key("a")), SizeIs(ClaimIndex::kDevicesPerPodMax));
  EXPECT_THAT(index.PodsOf(HeldGpu(0)), ElementsAre(Key("a")));
}

TEST_F(ClaimIndexTest, AClaimSharedByTwoPodsIsHeldByBoth) {
  for (const std::string name : {"a", "b"}) {
    kube::Pod& pod = view_.AddPod(name);
    pod.claims = {{.name = "gpu", .claim_name = "shared"}};
    pod.claim_names.clear();
  }
  view_.AddClaim("shared", {{"main", HeldGpu(0)}}, "a").reserved_for.push_back({Key("b"), "uid-b"});
  index_.PodChanged(Key("a"));
  index_.PodChanged(Key("b"));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), ElementsAre(Key("a"), Key("b")));
}

TEST_F(ClaimIndexTest, AClaimReservedForAnotherPodOfTheSameNameIsNotHeld) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a").reserved_for = {
      {Key("a"), "uid-of-the-old-one"}};
  EXPECT_THAT(Held("a"), IsEmpty());
}

TEST_F(ClaimIndexTest, AContainerThatNamesARequestSeesThatRequestsDevices) {
  kube::Pod& pod = view_.AddPod("a");
  pod.containers[0].claims = {{.name = "gpu", .request = "big"}};
  view_.AddClaim("a-gpu", {{"big", HeldGpu(0)}, {"small", HeldGpu(1)}}, "a");
  const std::vector<HeldDevice> held = Held("a");
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_THAT(held[0].uses, ElementsAre(ContainerUse{"train", HolderKind::kMain, "claim:gpu/big"}));
  EXPECT_THAT(held[1].uses, IsEmpty());
}

TEST_F(ClaimIndexTest, ASubRequestIsFoundByItsBase) {
  kube::Pod& pod = view_.AddPod("a");
  pod.containers[0].claims = {{.name = "gpu", .request = "main"}};
  view_.AddClaim("a-gpu", {{"main/second-choice", HeldGpu(0)}}, "a");
  EXPECT_THAT(Uses("a"), ElementsAre("train claim:gpu/main"));
}

TEST_F(ClaimIndexTest, ADeviceThatNoContainerReferencesIsHeldAllTheSame) {
  view_.AddPod("a").containers[0].claims.clear();
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  index_.PodChanged(Key("a"));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), ElementsAre(Key("a")));
  EXPECT_THAT(index_.DevicesOf(Key("a"))[0].uses, IsEmpty());
}

TEST_F(ClaimIndexTest, InitContainersAndSidecarsSeeDevicesToo) {
  kube::Pod& pod = view_.AddPod("a");
  pod.containers.push_back(
      {.name = "warm-up", .kind = HolderKind::kInit, .claims = {{.name = "gpu"}}});
  pod.containers.push_back(
      {.name = "proxy", .kind = HolderKind::kSidecar, .claims = {{.name = "gpu"}}});
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  EXPECT_THAT(Uses("a"), ElementsAre("proxy claim:gpu", "train claim:gpu", "warm-up claim:gpu"));
}

TEST_F(ClaimIndexTest, ExtendedResourcesAreFoundByTheStatussMappings) {
  kube::Pod& pod = view_.AddPod("a");
  pod.claims.clear();
  pod.claim_names.clear();
  pod.containers[0].claims.clear();
  pod.extended_claim = "a-extended-resources";
  pod.extended = {{"train", "example.com/gpu", "container-0-request-0"}};
  view_.AddClaim("a-extended-resources", {{"container-0-request-0", HeldGpu(0)}}, "a");
  EXPECT_THAT(Uses("a"), ElementsAre("train claim:a-extended-resources/container-0-request-0"));
}

TEST_F(ClaimIndexTest, SharesAndAdminAccessAreHeldLikeAnyDevice) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu",
                 {{.request = "main", .device = HeldGpu(0), .share_id = "s1"},
                  {.request = "main", .device = HeldGpu(0), .share_id = "s2"},
                  {.request = "spy", .device = HeldGpu(1), .admin_access = true}},
                 "a");
  prepared_.ids[{HeldGpu(0), "s2"}] = "gpu.example.com/gpu=share-2";
  const std::vector<HeldDevice> held = Held("a");
  ASSERT_THAT(held, SizeIs(3));
  EXPECT_EQ(held[0].resource_id, "gpu.example.com/node-1/gpu-0");
  EXPECT_EQ(held[1].resource_id, "gpu.example.com/gpu=share-2") << "the first CDI id, as prepared";
  EXPECT_EQ(held[2].device, HeldGpu(1));
  EXPECT_TRUE(held[2].admin_access);
  EXPECT_FALSE(held[0].admin_access);
}

TEST_F(ClaimIndexTest, AClaimReservedForAGroupIsHeldByItsPodsOnly) {
  kube::Pod& pod = view_.AddPod("a");
  Claim& claim = view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  claim.reserved_for.clear();
  claim.reserved_for_groups = {"gang"};
  EXPECT_THAT(Held("a"), IsEmpty()) << "it names the claim, and is of no group";
  pod.group = "others";
  EXPECT_THAT(Held("a"), IsEmpty());
  pod.group = "gang";
  EXPECT_THAT(Held("a"), SizeIs(1));
}

TEST_F(ClaimIndexTest, AClaimReservedForNobodyIsHeldByNobody) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a").reserved_for.clear();
  EXPECT_THAT(Held("a"), IsEmpty());
}

TEST_F(ClaimIndexTest, FollowsClaimsThatComeAfterTheirPods) {
  view_.AddPod("a");
  EXPECT_THAT(index_.PodChanged(Key("a")), ElementsAre(Key("a")));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), IsEmpty());
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  EXPECT_THAT(index_.ClaimChanged(Key("a-gpu")), ElementsAre(Key("a")));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), ElementsAre(Key("a")));
  EXPECT_THAT(index_.HeldDevices(), ElementsAre(HeldGpu(0)));
}

TEST_F(ClaimIndexTest, ForgetsPodsThatAreGoneAndDevicesGivenBack) {
  Give("a");
  view_.claims.at(Key("a-gpu")).devices = {{"main", HeldGpu(1)}};
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), IsEmpty());
  EXPECT_THAT(index_.PodsOf(HeldGpu(1)), ElementsAre(Key("a")));
  Remove("a");
  EXPECT_THAT(index_.HeldDevices(), IsEmpty());
  EXPECT_EQ(index_.pods(), 0u);
  EXPECT_THAT(index_.ClaimChanged(Key("a-gpu")), IsEmpty());
}

TEST_F(ClaimIndexTest, APodThatHasEndedIsStillNotifiedOfWhatItHeld) {
  kube::Pod& pod = Give("a");
  End("a");
  view_.claims.at(Key("a-gpu")).reserved_for.clear();
  view_.claims.at(Key("a-gpu")).devices.clear();
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), ElementsAre(Key("a")));
  EXPECT_THAT(index_.DevicesOf(Key("a")), SizeIs(1));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), IsEmpty()) << "it uses the device no more";
  EXPECT_THAT(index_.HeldDevices(), IsEmpty());
  index_.LetGo(Key("a"));
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), IsEmpty());
  pod.meta.uid = "another";  // the next of its name, seen only after its end
  view_.claims.at(Key("a-gpu")).reserved_for = {pod.ref()};
  view_.claims.at(Key("a-gpu")).devices = {{"main", HeldGpu(0)}};
  index_.PodChanged(Key("a"));
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), ElementsAre(Key("a")));
}

TEST_F(ClaimIndexTest, AClaimThatIsNotReadForAPodYetGivesItNothing) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  view_.unread = {Key("a")};
  index_.PodChanged(Key("a"));
  EXPECT_THAT(index_.DevicesOf(Key("a")), IsEmpty());
  view_.unread.clear();
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.PodsOf(HeldGpu(0)), ElementsAre(Key("a")));
}

// Its claim is freed when the group has ended and allocated anew to the next group of the name.
TEST_F(ClaimIndexTest, AnEndedPodOfAGroupGainsNothingByTheGroupsNextAllocation) {
  view_.AddPod("a").group = "ring";
  Claim& claim = view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  claim.reserved_for.clear();
  claim.reserved_for_groups = {"ring"};
  index_.PodChanged(Key("a"));
  End("a");
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), ElementsAre(Key("a")));
  claim.devices = {{"main", HeldGpu(1)}};
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(1)), IsEmpty());
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), ElementsAre(Key("a"))) << "it is how it ended";
  ClaimIndex after_a_restart(view_, prepared_);
  after_a_restart.PodChanged(Key("a"));
  EXPECT_THAT(after_a_restart.DevicesOf(Key("a")), IsEmpty());
}

// The claim was allocated anew since its Pods ended; the news of their end is on its way.
TEST_F(ClaimIndexTest, APodThatRunsGainsNothingByItsGroupsNextAllocationEither) {
  view_.AddPod("a").group = "ring";
  Claim& claim = view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  claim.reserved_for.clear();
  claim.reserved_for_groups = {"ring"};
  index_.PodChanged(Key("a"));
  claim.devices = {{"main", HeldGpu(1)}};
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.DevicesOf(Key("a")), IsEmpty());
  End("a");
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(1)), IsEmpty());
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), ElementsAre(Key("a")));
}

TEST_F(ClaimIndexTest, APodThatHasNotBegunHoldsWhatItsGroupsClaimHasNow) {
  view_.AddPod("a").group = "ring";
  view_.pods.at(Key("a")).phase = "Pending";
  Claim& claim = view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  claim.reserved_for.clear();
  claim.reserved_for_groups = {"ring"};
  index_.PodChanged(Key("a"));
  claim.devices = {{"main", HeldGpu(1)}};
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.PodsOf(HeldGpu(1)), ElementsAre(Key("a")));
}

// A watch that is late shows it as Pending when its group's claim is another's already.
TEST_F(ClaimIndexTest, APodHoldsNothingOfAnAllocationThatIsLaterThanItsBinding) {
  const auto bound = [this](const std::string& pod, int second) {
    view_.AddPod(pod).group = "ring";
    view_.pods.at(Key(pod)).phase = "Pending";
    view_.pods.at(Key(pod)).claim_names = {{"gpu", "ring"}};
    view_.pods.at(Key(pod)).conditions = {
        {.type = "PodScheduled", .status = "True", .changed = At(second)}};
    index_.PodChanged(Key(pod));
  };
  Claim& claim = view_.AddClaim("ring", {{"main", HeldGpu(1)}}, "");
  claim.reserved_for.clear();
  claim.reserved_for_groups = {"ring"};
  claim.allocated_at = FormatRfc3339(At(10));
  bound("former", 7);
  bound("next", 10);
  // Its scheduler's clock is a little ahead of the API server's.
  bound("skewed", 8);
  EXPECT_THAT(index_.PodsOf(HeldGpu(1)), ElementsAre(Key("next"), Key("skewed")));
  End("former");
  EXPECT_THAT(index_.DevicesOf(Key("former")), IsEmpty());
  // By its own UID it holds the claim whatever the times are.
  claim.reserved_for = {{Key("former"), "uid-former"}};
  index_.ClaimChanged(Key("ring"));
  EXPECT_THAT(index_.DevicesOf(Key("former")), SizeIs(1));
}

TEST_F(ClaimIndexTest, ADeviceIsOnlyAPodsUntilAnotherHasHadItAndNotOnlyLookedAtIt) {
  view_.AddPod("a").phase = "Failed";
  view_.AddClaim("a-gpu", {{"main", HeldGpu(0)}}, "a");
  index_.PodChanged(Key("a"));
  view_.AddPod("monitor");
  view_.AddClaim("monitor-gpu", {{.request = "spy", .device = HeldGpu(0), .admin_access = true}},
                 "monitor");
  index_.PodChanged(Key("monitor"));
  EXPECT_TRUE(index_.IsOnlyOf(Key("a"), HeldGpu(0)));
  Give("b");
  EXPECT_FALSE(index_.IsOnlyOf(Key("a"), HeldGpu(0)));
  End("b");
  EXPECT_FALSE(index_.IsOnlyOf(Key("a"), HeldGpu(0))) << "it may have been the other's fault";
  Remove("b");
  EXPECT_FALSE(index_.IsOnlyOf(Key("a"), HeldGpu(0))) << "the other has had it, and is gone";
}

TEST_F(ClaimIndexTest, ADeviceIsOnlyTheLastOnesOfThoseThatSharedIt) {
  Give("b");
  Give("a");
  Remove("a");
  End("b");
  EXPECT_TRUE(index_.IsOnlyOf(Key("b"), HeldGpu(0)));
}

TEST_F(ClaimIndexTest, NothingIsLostWhenTheClaimIsSeenToGoBeforeThePodIsSeenToEnd) {
  Give("a");
  view_.claims.clear();
  index_.ClaimChanged(Key("a-gpu"));
  EXPECT_THAT(index_.DevicesOf(Key("a")), IsEmpty());
  End("a");
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), ElementsAre(Key("a")));
  Remove("a");
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), IsEmpty());
}

TEST_F(ClaimIndexTest, APodOfTheSameNameInheritsNothing) {
  Give("a");
  view_.claims.clear();
  kube::Pod& next = view_.AddPod("a");
  next.meta.uid = "another";
  End("a");
  EXPECT_THAT(index_.PodsToNotify(HeldGpu(0)), IsEmpty());
}

TEST_F(ClaimIndexTest, KeepsNothingOfPodsWithoutClaims) {
  view_.AddPod("a").claims.clear();
  view_.pods.at(Key("a")).claim_names.clear();
  index_.PodChanged(Key("a"));
  EXPECT_EQ(index_.pods(), 0u);
}

TEST_F(ClaimIndexTest, AShareThatIsTakenAwayIsStillTheEndedPods) {
  view_.AddPod("a");
  const AllocatedDevice first{.request = "main", .device = HeldGpu(0), .share_id = "s1"};
  const AllocatedDevice second{.request = "main", .device = HeldGpu(0), .share_id = "s2"};
  view_.AddClaim("a-gpu", {first, second}, "a");
  index_.PodChanged(Key("a"));
  view_.AddClaim("a-gpu", {first}, "a");
  index_.ClaimChanged(Key("a-gpu"));
  End("a");
  EXPECT_THAT(index_.DevicesOf(Key("a")), SizeIs(2));
}

}  // namespace
}  // namespace galen::agent
