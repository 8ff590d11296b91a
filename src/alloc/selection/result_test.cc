#include "alloc/selection/result.h"

#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using Cluster = TestCluster;

Json Configured(const std::string& name) { return Json::MakeObject({{"opaque", name}}); }

// requests of each configuration, "*" for all: "class:r,s claim:*"
std::string ConfigText(const Allocation& allocation) {
  std::string text;
  for (const AllocatedConfig& config : allocation.config) {
    text += config.from_class ? "class:" : "claim:";
    for (const std::string& request : config.requests) text += request + ",";
    text += (config.requests.empty() ? "* " : " ");
  }
  return text;
}

TEST(Result, CopiesWhatTheRequestTolerates) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"});
  DeviceWish wish = Cluster::Wish(1);
  wish.tolerations = {Cluster::Tolerate()};
  cluster.Ask(Cluster::Claim({Cluster::Request("r", wish)}));
  EXPECT_EQ(cluster.outcome.allocations.at(0).devices.at(0).tolerations, wish.tolerations);
}

TEST(Result, HasEachClassesConfigurationOnce) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a", "b", "c"});
  cluster.classes["gpu"].config = {Configured("x"), Configured("y")};
  cluster.AddClass("plain", {});
  DeviceWish plain = Cluster::Wish(1);
  plain.class_name = "plain";
  ResourceClaim claim =
      Cluster::Claim({Cluster::Exactly("r", 1), Cluster::Request("s", plain),
                      Cluster::FirstOf("t", {Cluster::Wish(9), Cluster::Wish(1)})});
  claim.config = {{.requests = {}, .configuration = Configured("all")},
                  {.requests = {"t/a"}, .configuration = Configured("of a")},
                  {.requests = {"t/b", "r"}, .configuration = Configured("of b")},
                  {.requests = {"r", "s", "t"}, .configuration = Configured("each")}};
  EXPECT_EQ(cluster.Ask(claim), "r=a s=b t/b=c");
  EXPECT_EQ(ConfigText(cluster.outcome.allocations[0]),
            "class:r,t/b, class:r,t/b, claim:* claim:t/b,r, claim:* ");
  cluster.Use(36);
  cluster.Ask(claim);
  EXPECT_EQ(ConfigText(cluster.outcome.allocations[0]),
            "class:r,t/b, class:r,t/b, claim:* claim:t/b,r, claim:r,s,t, ");
}

TEST(Result, IsTiedToTheNodeByOneDeviceThatIs) {
  Cluster cluster;
  cluster.AddSlice("s", "pool", {"a"}).nodes = {.all = true};
  const auto claim = Cluster::Claim({Cluster::Exactly("r", 1)});
  cluster.Ask(claim);
  EXPECT_FALSE(cluster.outcome.allocations.at(0).node_selector);
  cluster.DeviceOf("a").binds_to_node = true;
  cluster.Ask(claim);
  EXPECT_EQ(cluster.outcome.allocations.at(0).node_selector, SelectorOfNode("node-1"));
  cluster.Use(35);
  cluster.Ask(claim);
  EXPECT_FALSE(cluster.outcome.allocations.at(0).node_selector) << "1.35 does not know the field";
}

TEST(Result, JoinsWhatDevicesRequireOfNodes) {
  Cluster cluster;
  cluster.node.labels = {{"zone", "a"}, {"rack", "1"}};
  const NodeRequirement zone{"zone", NodeRequirement::Operator::kIn, {"a", "b"}},
      same{"zone", NodeRequirement::Operator::kIn, {"b", "a"}},
      rack{"rack", NodeRequirement::Operator::kExists, {}};
  cluster.AddSlice("s", "pool-1", {"a"}).nodes = {
      .selector = NodeSelector{.terms = {{.expressions = {zone}}}}};
  cluster.AddSlice("t", "pool-2", {"b"}).nodes = {
      .selector = NodeSelector{.terms = {{.expressions = {same, rack}}}}};
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 2)})), "r=a r=b");
  EXPECT_EQ(cluster.outcome.allocations[0].node_selector,
            (NodeSelector{.terms = {{.expressions = {zone, rack}}}}));
  cluster.slices[0].nodes.selector->terms.push_back({.expressions = {rack}});
  EXPECT_EQ(cluster.Ask(Cluster::Claim({Cluster::Exactly("r", 1)})), "error")
      << "two terms cannot be joined";
}

}  // namespace
}  // namespace galen::alloc
