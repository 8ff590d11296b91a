#include "model/claim.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(ObjectKey, ReadsWithItsNamespaceWhenItHasOne) {
  EXPECT_EQ(ToString(ObjectKey{"train", "trainer-0"}), "train/trainer-0");
  EXPECT_EQ(ToString(ObjectKey{"", "node-7"}), "node-7");
}

TEST(PodRef, PodOfTheSameNameButAnotherUidIsAnotherPod) {
  EXPECT_NE((PodRef{{"train", "trainer-0"}, "1"}), (PodRef{{"train", "trainer-0"}, "2"}));
}

TEST(BaseRequest, IsThePartBeforeTheSubRequest) {
  EXPECT_EQ(BaseRequest("gpu"), "gpu");
  EXPECT_EQ(BaseRequest("gpu/large"), "gpu");
  EXPECT_EQ(BaseRequest(""), "");
}

TEST(Claim, ShareOfADeviceIsItsOwnAllocation) {
  const DeviceId nic{"nic.example.com", "node-7", "eth0"};
  Claim a{{"ns", "claim"}, "uid", {{"nic", nic, "share-1", false}}, {}};
  Claim b = a;
  EXPECT_EQ(a, b);
  b.devices[0].share_id = "share-2";
  EXPECT_NE(a, b);
}

TEST(Claim, IsForThePodsThatItListsAndForThoseOfItsGroups) {
  Claim claim;
  EXPECT_FALSE(claim.IsReservedFor("u-1", "")) << "of nobody";
  claim.reserved_for = {{{"train", "trainer-0"}, "u-1"}};
  claim.reserved_for_groups = {"gang"};
  EXPECT_TRUE(claim.IsReservedFor("u-1", ""));
  EXPECT_FALSE(claim.IsReservedFor("u-2", ""));
  EXPECT_TRUE(claim.IsReservedFor("u-2", "gang"));
  EXPECT_FALSE(claim.IsReservedFor("u-2", "others"));
}

}  // namespace
}  // namespace galen
