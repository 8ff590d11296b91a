#include "alloc/selection/usage.h"

#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using Cluster = TestCluster;

class UsageTest : public ::testing::Test {
 protected:
  UsageTest() { cluster_.AddSlice("s", "pool", {"a", "b"}); }

  static AllocatedDevice Of(const std::string& device) {
    return {.request = "r", .id = {"d", "pool", device}};
  }
  static AllocatedDevice ShareOfA(const std::string& amount) {
    AllocatedDevice device = Of("a");
    device.shared = true;
    device.consumed_capacity = Cluster::Amounts("memory", amount);
    return device;
  }

  Cluster cluster_;
};

TEST_F(UsageTest, TakesBackWhatItWasGiven) {
  const auto inventory = Inventory::Create(cluster_.slices, {}, cluster_.options);
  Usage usage(*inventory);
  usage.Add({.devices = {Of("a")}});
  usage.Add({.devices = {Of("a"), Of("nobody's")}});
  EXPECT_TRUE(usage.IsExclusive(0));
  EXPECT_FALSE(usage.IsExclusive(1));
  usage.Remove({.devices = {Of("a")}});
  EXPECT_TRUE(usage.IsAllocated(0)) << "two claims had it";
  usage.Remove({.devices = {Of("a")}});
  EXPECT_FALSE(usage.IsAllocated(0));
}

TEST_F(UsageTest, AddsUpShares) {
  const auto inventory = Inventory::Create(cluster_.slices, {}, cluster_.options);
  Usage usage(*inventory);
  usage.Add({.devices = {ShareOfA("2"), ShareOfA("3")}});
  EXPECT_FALSE(usage.IsExclusive(0));
  EXPECT_TRUE(usage.HasShare(0));
  EXPECT_EQ(*usage.ConsumedOf(0), Cluster::Amounts("memory", "5"));
  usage.Remove({.devices = {ShareOfA("2")}});
  EXPECT_EQ(*usage.ConsumedOf(0), Cluster::Amounts("memory", "3"));
  usage.Remove({.devices = {ShareOfA("3")}});
  EXPECT_EQ(usage.ConsumedOf(0), nullptr);
  EXPECT_FALSE(usage.IsAllocated(0));
}

TEST_F(UsageTest, KnowsNoSharesWithoutTheirGate) {
  cluster_.options.features.consumable_capacity = false;
  const auto inventory = Inventory::Create(cluster_.slices, {}, cluster_.options);
  Usage usage(*inventory);
  usage.Add({.devices = {ShareOfA("2")}});
  EXPECT_TRUE(usage.IsExclusive(0));
}

TEST_F(UsageTest, OfAdminAccessIsNone) {
  const auto inventory = Inventory::Create(cluster_.slices, {}, cluster_.options);
  Usage usage(*inventory);
  AllocatedDevice device = Of("a");
  device.admin_access = true;
  usage.Add({.devices = {device}});
  EXPECT_FALSE(usage.IsAllocated(0));
}

}  // namespace
}  // namespace galen::alloc
