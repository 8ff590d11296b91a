#include "alloc/selection/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using ::testing::HasSubstr;
using Cluster = TestCluster;

const ResourceClaim kOne = Cluster::Claim({Cluster::Exactly("r", 1)});
const ResourceClaim kAll = Cluster::Claim({Cluster::Request("r", Cluster::WishAll())});

TEST(Pool, CountsOnlyItsNewestGeneration) {
  Cluster cluster;
  cluster.AddSlice("old", "pool", {"a"}).generation = 1;
  cluster.AddSlice("new", "pool", {"b"}).generation = 2;
  EXPECT_EQ(cluster.Ask(kAll), "r=b");
}

TEST(Pool, OfAnOlderGenerationIsUsedWhereItIsWhole) {
  Cluster cluster;
  cluster.AddSlice("here", "pool", {"a"}).generation = 1;
  cluster.AddSlice("there", "pool", {"b"}).generation = 2;
  cluster.slices[1].nodes.node = "node-2";
  EXPECT_EQ(cluster.Ask(kOne), "r=a") << "what upstream does: it counts before it looks further";
  cluster.slices[0].slice_count = 2;
  EXPECT_EQ(cluster.Ask(kAll), "no fit") << "not whole: now the newer one is seen";
}

TEST(Pool, IsSkippedWhileSlicesAreMissing) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).slice_count = 2;
  cluster.AddSlice("t", "other", {"b"});
  EXPECT_EQ(cluster.Ask(kOne), "r=b");
  EXPECT_EQ(cluster.Ask(kAll), "error") << "all of what is not known cannot be had";
  cluster.Use(34);
  EXPECT_EQ(cluster.Ask(kOne), "r=b");
  cluster.Hold("b", "other");
  EXPECT_EQ(cluster.Ask(kOne), "r=a") << "1.34 takes from incomplete pools";
}

TEST(Pool, OfSeveralNodesIsWholeByTheSlicesOfAll) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).slice_count = 2;
  cluster.AddSlice("t", "pool", {"b"}).slice_count = 2;
  cluster.slices[1].nodes.node = "node-2";
  EXPECT_EQ(cluster.Ask(kAll), "r=a");
  cluster.Use(34);
  EXPECT_EQ(cluster.Ask(kAll), "error") << "1.34 counts the node's own slices only";
}

TEST(Pool, WithADeviceTwiceIsInvalid) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "a"});
  EXPECT_EQ(cluster.Ask(kOne), "node error") << "other nodes may do";
  EXPECT_EQ(cluster.Ask(kAll), "error");
  cluster.AddSlice("t", "zzz", {"b"});
  EXPECT_EQ(cluster.Ask(kOne), "r=b");
  cluster.Use(34);
  EXPECT_EQ(cluster.Ask(kOne), "error") << "in 1.34 a search that comes to it ends";
  cluster.AddSlice("u", "aaa", {"c"});
  EXPECT_EQ(cluster.Ask(kOne), "r=c") << "but not one that ends before";
}

TEST(Pool, WithCountersThatAreNotThereIsInvalid) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  cluster.AddCounters("pool", "gpu-0", "10");
  cluster.Consume("a", "gpu-1", "1");
  EXPECT_EQ(cluster.Ask(kOne), "node error");
  cluster.DeviceOf("a").consumes_counters[0].counter_set = "gpu-0";
  EXPECT_EQ(cluster.Ask(kOne), "r=a");
  cluster.DeviceOf("a").consumes_counters[0].counters[0].first = "none";
  EXPECT_EQ(cluster.Ask(kOne), "node error");
  cluster.DeviceOf("a").consumes_counters.clear();
  cluster.slices[1].shared_counters.push_back(cluster.slices[1].shared_counters[0]);
  EXPECT_EQ(cluster.Ask(kOne), "node error") << "a set twice";
}

TEST(Pool, WithCompatibilityGroupsIsIncompleteWithoutTheirGate) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).slice_count = 2;
  cluster.AddSlice("t", "pool", {"b"}).slice_count = 2;
  cluster.AddCounters("pool", "gpu-0", "10");
  cluster.Consume("a", "gpu-0", "1");
  EXPECT_EQ(cluster.Ask(kOne), "r=a");
  cluster.DeviceOf("a").consumes_counters[0].compatibility_groups = {"mig"};
  EXPECT_EQ(cluster.Ask(kOne), "no fit");
  cluster.Use(36);
  EXPECT_EQ(cluster.Ask(kOne), "r=a") << "1.36 does not know the field";
}

TEST(Pool, OfPartitionsIsNotSeenWithoutTheirGate) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.AddCounters("pool", "gpu-0", "10");
  cluster.options.features.partitionable_devices = false;
  EXPECT_EQ(cluster.Ask(kOne), "r=a") << "the slice with counters still counts";
  cluster.Consume("a", "gpu-0", "1");
  EXPECT_EQ(cluster.Ask(kOne), "no fit");
}

TEST(Pool, SharedByNodesIsFoundThroughLabelsAndNames) {
  Cluster cluster;
  cluster.node.labels = {{"zone", "a"}, {"kind", "gpu"}};
  const auto set = [&cluster](NodeRequirement requirement) {
    ResourceSlice& slice = cluster.slices[0];
    slice.nodes = {.selector = NodeSelector{.terms = {{.expressions = {std::move(requirement)}}}}};
  };
  cluster.AddSlice("s", "pool", {"a"});
  set({"zone", NodeRequirement::Operator::kIn, {"b", "a"}});
  EXPECT_EQ(cluster.Ask(kOne), "r=a");
  EXPECT_EQ(cluster.outcome.allocations[0].node_selector, cluster.slices[0].nodes.selector);
  set({"zone", NodeRequirement::Operator::kIn, {"b"}});
  EXPECT_EQ(cluster.Ask(kOne), "no fit");
  set({"none", NodeRequirement::Operator::kIn, {"b"}});
  EXPECT_EQ(cluster.Ask(kOne), "no fit");
  set({"kind", NodeRequirement::Operator::kExists, {}});
  EXPECT_EQ(cluster.Ask(kOne), "r=a");
  cluster.slices[0].nodes = {.all = true};
  EXPECT_EQ(cluster.Ask(kOne), "r=a");
  EXPECT_FALSE(cluster.outcome.allocations[0].node_selector) << "it can be used everywhere";
  cluster.slices[0].nodes = {};
  EXPECT_EQ(cluster.Ask(kOne), "no fit") << "nothing that is known is set";
}

TEST(Pool, OfWhichDevicesSelectNodes) {
  Cluster cluster;
  ResourceSlice& slice = cluster.AddSlice("s", "pool", {"a", "b", "c"});
  slice.nodes = {};
  slice.per_device_node_selection = true;
  slice.devices[0].nodes.node = "node-2";
  slice.devices[1].nodes.all = true;
  slice.devices[2].nodes.node = "node-1";
  EXPECT_EQ(cluster.Ask(kAll), "r=b r=c");
  EXPECT_EQ(cluster.outcome.allocations[0].node_selector, SelectorOfNode("node-1"));
  EXPECT_EQ(cluster.Ask(kOne), "r=b");
  cluster.options.features.partitionable_devices = false;
  EXPECT_EQ(cluster.Ask(kOne), "no fit");
}

TEST(Pool, WithASelectorThatCannotBeEvaluatedRefusesEveryNode) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  cluster.AddSlice("t", "other", {"b"}).nodes = {
      .selector = NodeSelector{.terms = {{.expressions = {{.key = "x"}}}}}};
  EXPECT_EQ(cluster.Ask(kOne), "error");
  EXPECT_THAT(cluster.outcome.message, HasSubstr("ResourceSlice t"));
}

TEST(Pool, JoinsOnesOwnSlicesAndSharedOnesInOneOrder) {
  Cluster cluster;
  cluster.AddSlice("s", "pool-b", {"own"});
  cluster.AddSlice("t", "pool-a", {"shared-a"}).nodes = {.all = true};
  cluster.AddSlice("u", "pool-c", {"shared-c"}).nodes = {.all = true};
  EXPECT_EQ(cluster.Ask(kAll), "r=shared-a r=own r=shared-c");
}

TEST(Pool, WithCountersIsSeenByAllNodesIn136) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).nodes.node = "node-2";
  cluster.AddCounters("pool", "gpu-0", "10");
  cluster.AddSlice("t", "other", {"b"});
  for (ResourceSlice& slice : cluster.slices) {
    if (slice.pool == "pool") slice.slice_count = 3;
  }
  EXPECT_EQ(cluster.Ask(kAll), "error") << "the counters are this node's, too";
  cluster.slices[1].nodes.node = "node-2";
  EXPECT_EQ(cluster.Ask(kAll), "r=b");
  cluster.Use(36);
  EXPECT_EQ(cluster.Ask(kAll), "error");
}

TEST(Pool, WithASelectorOfANodesNameIsLookedAtForThatNodeOnly) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).nodes = {.selector = SelectorOfNode("node-1")};
  EXPECT_EQ(cluster.Ask(kOne), "r=a");
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  PoolCache cache;
  EXPECT_EQ(inventory->ViewOf({.name = "node-1"}, cache).value(), &cache.view);
  EXPECT_NE(inventory->ViewOf({.name = "node-2"}, cache).value(), &cache.view)
      << "nothing has to be built for it";
  cluster.slices[0].nodes.selector->terms[0].fields[0].key = "metadata.namespace";
  EXPECT_EQ(cluster.Ask(kOne), "no fit");
  cluster.slices[0].nodes.selector->terms[0].fields[0].op = NodeRequirement::Operator::kNotIn;
  EXPECT_EQ(cluster.Ask(kOne), "r=a") << "no node has that field";
}

TEST(Pool, ThatIsBrokenShowsItsDevicesInOrder) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"}).slice_count = 3;
  cluster.AddSlice("t", "other", {"c"});
  cluster.AddSlice("u", "pool", {"d", "e"}).slice_count = 3;
  cluster.slices[2].nodes.node = "node-2";
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  const Usage usage(*inventory);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::vector claims = {kOne};
  const Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  Allocator allocator(*inventory, usage, demand, memo);
  allocator.Check(cluster.node);
  EXPECT_EQ(allocator.InBrokenPools(), (std::vector<std::uint32_t>{0, 1, 3, 4}));
}

// With a slice for all nodes its view is built when a node asks for it, else before.
TEST(Pool, OfManyNodesHasItsCountersOnce) {
  for (const bool for_all : {false, true}) {
    Cluster cluster;
    for (int node = 0; node < 20; ++node) {
      const std::string device = "dev-" + std::to_string(node);
      cluster.AddSlice("s-" + std::to_string(node), "pool", {device}).nodes.node =
          "n-" + std::to_string(node);
      cluster.Consume(device, "gpu-0", "1");
    }
    cluster.AddCounters("pool", "gpu-0", "10");
    if (for_all) cluster.slices.back().nodes = {.all = true};
    const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
    PoolCache cache;
    const auto counters_of = [&](const std::string& node) {
      const NodeView& view = *inventory->ViewOf({.name = node}, cache).value();
      EXPECT_EQ(view.candidates.size(), 1u);
      EXPECT_EQ(view.candidates[0].use->charges.size(), 1u);
      return view.pools[0]->counters;
    };
    const PoolCounters* of_first = counters_of("n-0");
    EXPECT_EQ(of_first->consumers.size(), 20u) << "each node's devices";
    for (int node = 1; node < 20; ++node)
      EXPECT_EQ(counters_of("n-" + std::to_string(node)), of_first);
  }
}

TEST(Inventory, AnswersForManyNodesFromOneMemo) {
  Cluster cluster;
  for (int node = 0; node < 50; ++node) {
    ResourceSlice& slice =
        cluster.AddSlice("s-" + std::to_string(node), "p-" + std::to_string(node), {"a", "b"});
    slice.nodes.node = "n-" + std::to_string(node);
    for (Device& device : slice.devices) {
      device.facts.attributes.emplace_back(QualifiedName{"d", "uuid"},
                                           device.name + std::to_string(node));
      device.facts.attributes.emplace_back(QualifiedName{"d", "x"},
                                           std::string(node < 25 ? "1" : "2"));
    }
  }
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  const Usage usage(*inventory);
  SelectorMemo memo(*inventory, cluster.engine);
  const std::vector claims = {
      Cluster::Claim({Cluster::Exactly("r", 2, "device.attributes[\"d\"].x == \"2\"")})};
  const Demand demand = PrepareDemand(claims, cluster.classes, *inventory, memo);
  Allocator allocator(*inventory, usage, demand, memo);
  int fits = 0;
  for (int node = 0; node < 50; ++node) {
    const Node asked{.name = "n-" + std::to_string(node)};
    fits += allocator.Check(asked) == Outcome::Verdict::kFits ? 1 : 0;
  }
  EXPECT_EQ(fits, 25);
  EXPECT_EQ(cluster.engine.compiled, 2);
  EXPECT_EQ(memo.evaluations(), 3u) << "the driver once, and each value of x once";
  EXPECT_EQ(cluster.Text(allocator.Allocate({.name = "nowhere"})), "no fit");
}

TEST(Inventory, KnowsDevicesByTheirWholeName) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b"});
  const auto inventory = Inventory::Create(cluster.slices, {}, cluster.options);
  EXPECT_EQ(inventory->identity_count(), 2u);
  EXPECT_EQ(inventory->IdentityOf({"d", "pool", "b"}), 1u);
  EXPECT_EQ(inventory->IdentityOf({"d", "other", "b"}), Inventory::kNoIdentity);
}

}  // namespace
}  // namespace galen::alloc
