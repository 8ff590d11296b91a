#include "alloc/explanation/shortage.h"

#include <gtest/gtest.h>

#include "alloc/selection/cel_engine.h"
#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

class ShortageTest : public ::testing::Test {
 protected:
  ShortageTest() { cluster_.AddSlice("slice", "pool", {"a", "b", "c"}); }

  std::string Of(std::vector<DeviceRequest> requests) {
    const auto inventory = Inventory::Create(cluster_.slices, cluster_.rules, Options());
    Usage usage(*inventory);
    for (const Allocation& allocation : cluster_.allocated) usage.Add(allocation);
    CelEngine engine(kNewestMinor);
    SelectorMemo memo(*inventory, engine);
    const std::vector<ResourceClaim> claims = {TestCluster::Claim(std::move(requests))};
    const Demand demand = PrepareDemand(claims, cluster_.classes, *inventory, memo);
    EXPECT_EQ(Allocator(*inventory, usage, demand, memo).Check(cluster_.node),
              Outcome::Verdict::kDoesNotFit);
    return ShortageOf(cluster_.node, claims, {*inventory, usage, cluster_.classes, memo});
  }

  TestCluster cluster_;
};

TEST_F(ShortageTest, CountsWhatFailedWhichTestMostFrequentFirst) {
  cluster_.Hold("a");
  cluster_.Taint("b");
  cluster_.Taint("c");
  EXPECT_EQ(
      Of({TestCluster::Exactly("gpu", 1)}),
      "claim claim, request gpu: 1 wanted, 0 of 3 devices to be had (2 tainted (sick), 1 in use)");
}

TEST_F(ShortageTest, IsOfTheFirstRequestThatGetsTooFew) {
  EXPECT_EQ(Of({TestCluster::Exactly("one", 1),
                TestCluster::Exactly("none", 1, "device.driver == \"other\"")}),
            "claim claim, request none: 1 wanted, 0 of 3 devices to be had (3 not selected)");
}

TEST_F(ShortageTest, OfAllItSaysThatAllAreWanted) {
  cluster_.Taint("b");
  EXPECT_EQ(Of({TestCluster::Request("gpu", TestCluster::WishAll())}),
            "claim claim, request gpu: all that match wanted, 2 of 3 devices to be had (1 tainted "
            "(sick))");
}

TEST_F(ShortageTest, ANodeWithoutDevicesSaysThat) {
  cluster_.node.name = "elsewhere";
  EXPECT_EQ(Of({TestCluster::Exactly("gpu", 1)}),
            "claim claim, request gpu: the node has no devices");
}

TEST_F(ShortageTest, RequestsThatOnlyTogetherAreTooManySaySo) {
  EXPECT_EQ(Of({TestCluster::Exactly("one", 2), TestCluster::Exactly("two", 2)}),
            "its claims' requests cannot be met together");
}

}  // namespace
}  // namespace galen::alloc
