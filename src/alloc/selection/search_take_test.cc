#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using Cluster = TestCluster;

TEST(SearchTake, AdminAccessIsChargedForCountersAgain) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.AddCounters("pool", "gpu-0", "10Gi");
  cluster.Consume("a", "gpu-0", "10Gi");
  DeviceWish admin = Cluster::Wish(1);
  admin.admin_access = true;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", admin)})), "r=a");
  cluster.Hold("a");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", admin)})), "no fit");
}

TEST(SearchTake, PartitionsShareTheirCounters) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"half-1", "whole", "half-2"});
  cluster.AddCounters("pool", "gpu-0", "10Gi");
  cluster.Consume("half-1", "gpu-0", "5Gi");
  cluster.Consume("whole", "gpu-0", "10Gi");
  cluster.Consume("half-2", "gpu-0", "5Gi");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)})), "r=half-1 r=half-2");
  cluster.Hold("half-1");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "r=half-2");
  cluster.Hold("whole");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "no fit");
}

TEST(SearchTake, AnOverdrawnCounterRefusesAllConsumersOfThePool) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "free"});
  cluster.AddCounters("pool", "gpu-0", "10Gi");
  cluster.AddCounters("pool", "gpu-1", "10Gi");
  cluster.Consume("a", "gpu-0", "8Gi");
  cluster.Consume("b", "gpu-0", "8Gi");
  cluster.Consume("c", "gpu-1", "1Gi");
  cluster.Hold("a");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)})), "r=c r=free");
  cluster.Hold("b");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "r=free")
      << "gpu-1 has enough, but gpu-0 is below zero";
}

TEST(SearchTake, CountersOfDevicesOfOtherNodesCount) {
  Cluster cluster;
  cluster.AddSlice("s-1", "pool", {"here"});
  cluster.AddSlice("s-2", "pool", {"there"}).nodes.node = "node-2";
  cluster.AddCounters("pool", "gpu-0", "10Gi");
  cluster.Consume("here", "gpu-0", "6Gi");
  cluster.Consume("there", "gpu-0", "6Gi");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "r=here");
  cluster.Hold("there");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "no fit");
}

TEST(SearchTake, SharesAreRoundedAndCounted) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  RequestPolicy policy;
  policy.valid_range = {.min = Quantity::Of(4), .step = Quantity::Of(4)};
  for (const char* device : {"a", "b"}) {
    cluster.DeviceOf(device).facts.allow_multiple_allocations = true;
    cluster.SetCapacity(device, "memory", "10", policy);
  }
  DeviceWish wish = Cluster::Wish(1);
  wish.capacity = Cluster::Amounts("memory", "3");
  const DeviceRequest first = Cluster::Request("r", wish), second = Cluster::Request("s", wish),
                      third = Cluster::Request("t", wish);
  EXPECT_EQ(cluster.Ask(Cluster::Claim({first, second, third})), "r=a s=a t=b");
  EXPECT_EQ(cluster.outcome.allocations[0].devices[0].consumed_capacity,
            Cluster::Amounts("memory", "4"));
  EXPECT_TRUE(cluster.outcome.allocations[0].devices[0].shared);
  cluster.allocated = cluster.outcome.allocations;
  for (AllocatedDevice& device : cluster.allocated[0].devices) device.share_id = "id";
  EXPECT_EQ(cluster.Ask(Cluster::Claim({first})), "r=b") << "a has 8 of 10 given away";
}

TEST(SearchTake, ADeviceIsSharedOnceWithinARequest) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  for (const char* device : {"a", "b"}) {
    cluster.DeviceOf(device).facts.allow_multiple_allocations = true;
    cluster.SetCapacity(device, "memory", "10");
  }
  DeviceWish wish = Cluster::Wish(2);
  wish.capacity = Cluster::Amounts("memory", "1");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", wish)})), "r=a r=b");
  wish.count = 3;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", wish)})), "no fit");
}

TEST(SearchTake, AFurtherShareChargesNoCounters) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.AddCounters("pool", "gpu-0", "10Gi");
  cluster.Consume("a", "gpu-0", "10Gi");
  cluster.DeviceOf("a").facts.allow_multiple_allocations = true;
  cluster.SetCapacity("a", "memory", "10");
  DeviceWish wish = Cluster::Wish(1);
  wish.capacity = Cluster::Amounts("memory", "5");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", wish), Cluster::Request("s", wish)})),
            "r=a s=a");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", wish), Cluster::Request("s", wish),
                                        Cluster::Request("t", wish)})),
            "no fit");
}

TEST(SearchTake, ACapacityRequestIsALeastSizeOfAWholeDevice) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"none", "small", "large"});
  cluster.SetCapacity("small", "memory", "40Gi");
  cluster.SetCapacity("large", "memory", "80Gi");
  DeviceWish wish = Cluster::Wish(1);
  wish.capacity = Cluster::Amounts("memory", "60Gi");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", wish)})), "r=large");
  EXPECT_FALSE(cluster.outcome.allocations[0].devices[0].shared);
  wish.capacity = Cluster::Amounts("d/memory", "60Gi");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Request("r", wish)})), "no fit")
      << "capacities are named as the driver writes them";
}

}  // namespace
}  // namespace galen::alloc
