#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using ::testing::HasSubstr;
using Cluster = TestCluster;

// ---- What upstream takes exponential time for

Cluster OfMany(int count) {
  Cluster cluster;
  std::vector<std::string> devices;
  for (int i = 10; i < 10 + count; ++i) devices.push_back("gpu-" + std::to_string(i));
  cluster.AddSlice("s", "pool", devices);
  return cluster;
}

TEST(SearchBounds, SeesAtOnceThatTooFewDevicesAreThere) {
  Cluster cluster = OfMany(22);
  cluster.options.steps_max = 200;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 23)})), "no fit");
  EXPECT_THAT(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 22)})), HasSubstr("r=gpu-31"));
}

TEST(SearchBounds, SeesAtOnceThatNoGroupIsLargeEnough) {
  Cluster cluster = OfMany(22);
  for (int i = 10; i < 32; ++i)
    cluster.Set("gpu-" + std::to_string(i), "numa", std::int64_t{i % 2});
  cluster.options.steps_max = 200;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 12)}, {Cluster::Match("numa")})),
            "no fit");
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 3)}, {Cluster::Distinct("numa")})),
            "no fit");
}

TEST(SearchBounds, SeesAtOnceThatCountersAreTooFew) {
  Cluster cluster = OfMany(24);
  for (int gpu = 0; gpu < 4; ++gpu) cluster.AddCounters("pool", "gpu-" + std::to_string(gpu), "5");
  for (int i = 10; i < 34; ++i)
    cluster.Consume("gpu-" + std::to_string(i), "gpu-" + std::to_string(i % 4), "1");
  cluster.options.steps_max = 300;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 21)})), "no fit");
  EXPECT_THAT(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 20)})), HasSubstr("r=gpu-29"));
}

// No two devices are alike, so that only the bounds can cut.
Cluster OfUnlike(int count) {
  Cluster cluster = OfMany(count);
  for (int i = 10; i < 10 + count; ++i)
    cluster.Set("gpu-" + std::to_string(i), "uuid", std::int64_t{i});
  return cluster;
}

TEST(SearchBounds, SeeARequestWithoutHopeBehindOneWithManyChoices) {
  Cluster cluster = OfUnlike(24);
  cluster.options.steps_max = 50'000;
  const auto ask = [&cluster](const std::string& selector) {
    return cluster.Ask(
        Cluster::Claim({Cluster::Exactly("r", 8), Cluster::Exactly("s", 1, selector)},
                       {Cluster::Distinct("uuid")}));
  };
  EXPECT_EQ(ask("device.driver == \"none\""), "no fit");
  EXPECT_THAT(ask("device.driver == \"d\""), HasSubstr("s=gpu-18"));
  cluster.options.first_steps = 10;
  EXPECT_THAT(ask("device.driver == \"d\""), HasSubstr("s=gpu-18")) << "and it begins anew";
}

TEST(SearchBounds, OfAllNodesTogetherLimitTheSteps) {
  Cluster cluster = OfMany(22);
  cluster.options.steps_max = 1'000;
  cluster.options.cuts = false;
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  const Usage usage(*inventory);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::vector claims = {Cluster::Claim({Cluster::Exactly("r", 23)})};
  const Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  Allocator allocator(*inventory, usage, demand, memo);
  std::uint64_t searched = 0;
  for (int node = 0; node < 20; ++node) {
    EXPECT_EQ(allocator.Check(cluster.node), Outcome::Verdict::kCannotTell);
    searched += allocator.calls() > 0 ? 1 : 0;
  }
  EXPECT_GE(searched, kNodesStepsFactor);
  EXPECT_LE(searched, kNodesStepsFactor + 1) << "then it says so at once";
}

TEST(SearchBounds, OfAllNodesTogetherDoNotCountWhatEverySearchNeeds) {
  Cluster cluster = OfMany(22);
  cluster.options.steps_max = 100;
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  const Usage usage(*inventory);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::vector claims = {Cluster::Claim({Cluster::Exactly("r", 23)})};
  const Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  Allocator allocator(*inventory, usage, demand, memo);
  for (int node = 0; node < 1'000; ++node)
    ASSERT_EQ(allocator.Check(cluster.node), Outcome::Verdict::kDoesNotFit) << node;
}

TEST(SearchBounds, LeaveOutNoPartitionThatFits) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"whole", "half-1", "half-2"});
  cluster.AddCounters("pool", "gpu-0", "10");
  cluster.slices[1].shared_counters[0].counters.emplace_back("slots", Quantity::Of(1));
  cluster.Consume("whole", "gpu-0", "10");
  cluster.Consume("half-1", "gpu-0", "5");
  cluster.Consume("half-2", "gpu-0", "5");
  cluster.DeviceOf("half-1").consumes_counters[0].counters.emplace_back("slots", Quantity::Of(1));
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)})), "r=half-1 r=half-2")
      << "the whole comes first, and then nothing fits";
}

// The first claim gets 7 of 9 only if it leaves the first two to the second: the last of 36 ways.
TEST(SearchBounds, DevicesOfOtherValuesInAConstraintAreNoTwins) {
  Cluster cluster = OfMany(9);
  for (int i = 10; i < 19; ++i)
    cluster.Set("gpu-" + std::to_string(i), "card", std::int64_t{i == 11 ? 10 : i});
  const auto first = Cluster::Claim({Cluster::Exactly("r", 7)});
  const auto second = Cluster::Claim({Cluster::Exactly("s", 2)}, {Cluster::Match("card")});
  EXPECT_THAT(cluster.Ask({first, second}), HasSubstr("r=gpu-18 | s=gpu-10 s=gpu-11"));
}

TEST(SearchBounds, DevicesWithATaintAreNoTwinsOfOthers) {
  Cluster cluster = OfMany(9);
  for (int i = 12; i < 19; ++i) cluster.Taint("gpu-" + std::to_string(i));
  DeviceWish tolerant = Cluster::Wish(7);
  tolerant.tolerations = {Cluster::Tolerate()};
  const auto first = Cluster::Claim({Cluster::Request("r", tolerant)});
  const auto second = Cluster::Claim({Cluster::Exactly("s", 2)});
  EXPECT_THAT(cluster.Ask({first, second}), HasSubstr("r=gpu-18 | s=gpu-10 s=gpu-11"));
}

TEST(SearchBounds, DevicesThatASelectorPassesOverAreNoTwins) {
  Cluster cluster = OfMany(9);
  for (int i = 10; i < 19; ++i) cluster.Set("gpu-" + std::to_string(i), "good", i < 12);
  const auto first = Cluster::Claim({Cluster::Exactly("r", 7)});
  const auto second = Cluster::Claim({Cluster::Exactly("s", 2, "device.attributes[\"d\"].good")});
  EXPECT_THAT(cluster.Ask({first, second}), HasSubstr("r=gpu-18 | s=gpu-10 s=gpu-11"));
}

TEST(SearchBounds, TriesTwinsOnce) {
  Cluster cluster = OfMany(24);
  cluster.options.steps_max = 10'000;
  // 12 of 24 in 2.7 million ways, after each of which the second request is short by one.
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 12), Cluster::Exactly("s", 13)})),
            "no fit");
  EXPECT_EQ(cluster.Ask({Cluster::Claim({Cluster::Exactly("r", 12)}),
                         Cluster::Claim({Cluster::Exactly("s", 6), Cluster::Exactly("t", 7)})}),
            "no fit");
}

TEST(SearchBounds, SaysThatItCannotTellWhenItsStepsAreSpent) {
  Cluster cluster = OfMany(24);
  cluster.options.steps_max = 10'000;
  cluster.options.cuts = false;
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 12), Cluster::Exactly("s", 13)})),
            "cannot tell");
}

}  // namespace
}  // namespace galen::alloc
