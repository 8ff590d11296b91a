#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using Cluster = TestCluster;
using Texts = std::vector<std::string>;

TEST(ListAttributes, MatchByWhatAllHaveInCommon) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "d"});
  cluster.Set("a", "root", Texts{"x", "y"});
  cluster.Set("b", "root", Texts{"y", "z"});
  cluster.Set("c", "root", Texts{"z", "x"});
  cluster.Set("d", "root", std::string("y"));
  const auto match = [](int count) {
    return Cluster::Claim({Cluster::Exactly("r", count)}, {Cluster::Match("root")});
  };
  EXPECT_EQ(cluster.Ask(match(2)), "no fit") << "without the gate lists are like nothing";
  cluster.options.features.list_attributes = true;
  EXPECT_EQ(cluster.Ask(match(2)), "r=a r=b");
  EXPECT_EQ(cluster.Ask(match(3)), "r=a r=b r=d") << "no element is in a, b and c";
  EXPECT_EQ(cluster.Ask(match(4)), "no fit");
}

TEST(ListAttributes, AreDistinctWhenNoTwoShareAnElement) {
  Cluster cluster;
  cluster.options.features.list_attributes = true;
  cluster.AddSlice("s", "pool", {"a", "b", "c"});
  cluster.Set("a", "root", Texts{"x", "y"});
  cluster.Set("b", "root", std::string("y"));
  cluster.Set("c", "root", Texts{"z"});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)}, {Cluster::Distinct("root")})),
            "r=a r=c");
}

TEST(CompatibilityGroups, LetPartitionsOfOneKindStandTogether) {
  Cluster cluster;
  cluster.options.features.compatibility_groups = true;
  cluster.AddSlice("s", "pool", {"a", "b", "c", "d"});
  cluster.AddCounters("pool", "gpu-0", "10");
  for (const char* device : {"a", "b", "c", "d"}) cluster.Consume(device, "gpu-0", "1");
  const auto groups = [&cluster](const char* device, Texts names) {
    cluster.DeviceOf(device).consumes_counters[0].compatibility_groups = std::move(names);
  };
  groups("a", {"mig", "any"});
  groups("b", {"vgpu"});
  groups("c", {"mig"});
  const auto two = Cluster::Claim({Cluster::Exactly("r", 2)});
  EXPECT_EQ(cluster.Ask(two), "r=a r=c");
  cluster.Hold("b");
  EXPECT_EQ(cluster.Ask(two), "no fit") << "b is in use, and nothing stands beside it";
  groups("b", {});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "r=d")
      << "without groups only beside those without";
}

TEST(NodeOperations, MustBeDispensableOnTheNode) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).skip_node_operations = {"Prepare"};
  const auto claim = Cluster::Claim({Cluster::Exactly("r", 1)});
  EXPECT_EQ(cluster.Ask(claim), "r=a") << "the variant of stock gates does not look at it";
  cluster.options.experimental = true;
  EXPECT_EQ(cluster.Ask(claim), "no fit");
  cluster.options.features.optional_node_operations = true;
  EXPECT_EQ(cluster.Ask(claim), "no fit");
  cluster.node.declared_features = {"DRAOptionalNodeOperations"};
  EXPECT_EQ(cluster.Ask(claim), "r=a");
  EXPECT_EQ(cluster.outcome.allocations[0].devices[0].skip_node_operations, Texts{"Prepare"});
}

}  // namespace
}  // namespace galen::alloc
