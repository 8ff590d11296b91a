#include "cluster_sim/allocation/device_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "cluster_sim/allocation/test_devices.h"

namespace galen::cluster_sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceBookTest : public ::testing::Test {
 protected:
  Json slice_ = api_sim::FakeSlice("gpu", "node-1", {"a", "b"});

  Json Claim(const std::string& device) const {
    Json claim = api_sim::FakeClaim("c", "gpu");
    claim["status"]["allocation"] = AllocationOf(slice_, device);
    return claim;
  }
  static bool IsHeld(const DeviceBook& book, const std::string& device) {
    return book.usage().IsExclusive(book.inventory().IdentityOf({"gpu", "node-1", device}));
  }
};

TEST_F(DeviceBookTest, KnowsWhatClaimsHold) {
  const DeviceBook book(api_sim::ByName({slice_}), {}, {}, api_sim::ByName({Claim("b")}));
  EXPECT_FALSE(IsHeld(book, "a"));
  EXPECT_TRUE(IsHeld(book, "b"));
}

TEST_F(DeviceBookTest, FollowsAClaimThatIsAllocatedAnewAndThenGone) {
  DeviceBook book(api_sim::ByName({slice_}), {}, {}, {});
  const Json first = Claim("a");
  const Json second = Claim("b");
  book.OnClaim(nullptr, &first);
  book.OnClaim(&first, &second);
  EXPECT_FALSE(IsHeld(book, "a"));
  EXPECT_TRUE(IsHeld(book, "b"));
  book.OnClaim(&second, nullptr);
  EXPECT_FALSE(IsHeld(book, "b"));
}

TEST_F(DeviceBookTest, WhatIsHeldForADecisionIsFreeAfterIt) {
  DeviceBook book(api_sim::ByName({slice_}), {}, {}, {});
  book.Hold(AllocationOf(slice_, "a"));
  EXPECT_TRUE(IsHeld(book, "a"));
  book.Release(AllocationOf(slice_, "a"));
  EXPECT_FALSE(IsHeld(book, "a"));
}

TEST_F(DeviceBookTest, ASliceThatCannotBeReadIsLeftOutAndNamed) {
  Json broken = api_sim::FakeSlice("gpu", "node-2", {"c"});
  broken["spec"]["devices"].MutableItems()[0]["capacity"] =
      api_sim::Yaml("{memory: {value: much}}");
  const DeviceBook book(api_sim::ByName({slice_, broken}), {}, {}, {});
  EXPECT_THAT(book.problems(), ElementsAre(HasSubstr("node-2-gpu")));
  EXPECT_EQ(book.inventory().slices().size(), 1U);
}

TEST_F(DeviceBookTest, ADeviceOfAnAllocationThatCannotBeReadIsHeldAsAWhole) {
  DeviceBook book(api_sim::ByName({slice_}), {}, {}, {});
  Json odd = AllocationOf(slice_, "a");
  Json& result = odd["devices"]["results"].MutableItems()[0];
  result["shareID"] = "x";
  result["consumedCapacity"] = api_sim::Yaml("{memory: 1e30}");
  book.Hold(odd);
  EXPECT_TRUE(IsHeld(book, "a"));
  book.Release(odd);
  EXPECT_FALSE(IsHeld(book, "a"));
}

TEST_F(DeviceBookTest, SoundObjectsHaveNoProblems) {
  const DeviceBook book(api_sim::ByName({slice_}), {},
                        api_sim::ByName({api_sim::FakeClass("gpu", "gpu")}), {});
  EXPECT_THAT(book.problems(), IsEmpty());
  EXPECT_TRUE(book.classes().contains("gpu"));
}

}  // namespace
}  // namespace galen::cluster_sim
