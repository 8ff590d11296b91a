#include "alloc/explanation/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/explanation/funnel.h"
#include "alloc/explanation/test_held.h"
#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two nodes with two GPUs each, and a Pod that wants one.
class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() {
    for (const char* name : {"node-1", "node-2"}) {
      cluster_.node.name = name;
      cluster_.AddSlice(std::string("slice-") + name, name,
                        {std::string(name) + "-a", std::string(name) + "-b"});
      picture_.nodes.push_back({.node = {.name = name}, .ready = true});
    }
    Ask({TestCluster::Exactly("gpu", 1)});
  }

  void Ask(std::vector<DeviceRequest> requests, std::vector<DeviceConstraint> constraints = {}) {
    question_.claims = {TestCluster::Claim(std::move(requests), std::move(constraints))};
  }
  // By a Pod of that name.
  void Hold(const std::string& device, const std::string& pod) {
    picture_.held.push_back(
        HeldBy({{"ns", pod}}, pod + "-claim", {{"d", device.substr(0, 6), device}}));
  }
  void HoldAll() {
    Hold("node-1-a", "p1");
    Hold("node-1-b", "p2");
    Hold("node-2-a", "p3");
    Hold("node-2-b", "p4");
  }
  Explanation It() {
    picture_.slices = cluster_.slices;
    picture_.classes = cluster_.classes;
    return Explain(picture_, question_);
  }
  // "code devices detail" of each step of the only request.
  std::vector<std::string> Steps() {
    std::vector<std::string> steps;
    const Explanation explanation = It();
    for (const FunnelStep& step : explanation.requests.at(0).steps) {
      steps.push_back(fmt::format("{} {} {}", step.code, step.devices, step.detail));
    }
    return steps;
  }
  std::vector<std::string> NearMisses() {
    std::vector<std::string> texts;
    for (const NearMiss& miss : It().near_misses) texts.push_back(miss.code + ": " + miss.text);
    return texts;
  }

  TestCluster cluster_;
  Picture picture_;
  Question question_;
};

TEST_F(ExplainTest, WhatFitsNamesTheNodesAndTheDevicesOfOne) {
  Hold("node-1-a", "p1");
  const Explanation explanation = It();
  EXPECT_EQ(explanation.prospect, Prospect::kNow);
  EXPECT_THAT(explanation.nodes, ElementsAre("node-1", "node-2"));
  EXPECT_EQ(explanation.example.at(0).devices.at(0).id.device, "node-1-b");
  EXPECT_THAT(explanation.requests, IsEmpty());
  EXPECT_THAT(explanation.near_misses, IsEmpty());
}

TEST_F(ExplainTest, AFullClusterFitsLaterAndTheHoldersAreNamed) {
  HoldAll();
  EXPECT_EQ(It().prospect, Prospect::kLater);
  EXPECT_THAT(Steps(), ElementsAre("InUse 4 ns/p1, ns/p2, ns/p3, ns/p4"));
  EXPECT_THAT(NearMisses(), ElementsAre("ClaimEnds: ns/p1 ends", "ClaimEnds: ns/p2 ends",
                                        "ClaimEnds: ns/p3 ends"));
}

TEST_F(ExplainTest, TheFunnelCountsEachDeviceOnceByTheFirstThingAgainstIt) {
  picture_.nodes[1].cordoned = true;
  Hold("node-1-a", "p1");
  cluster_.Taint("node-1-b");
  const Explanation explanation = It();
  EXPECT_EQ(explanation.requests.at(0).of_class, 4U);
  EXPECT_EQ(explanation.requests.at(0).to_be_had, 0U);
  EXPECT_THAT(Steps(), ElementsAre("NodeRefused 2 cordoned", "InUse 1 ns/p1", "Tainted 1 sick"));
  EXPECT_THAT(NearMisses(),
              ElementsAre("ClaimEnds: ns/p1 ends",
                          "TaintGone: devices lose the taint sick, or the claim tolerates it",
                          "NodeOpens: it could use node-2 (cordoned)"));
}

TEST_F(ExplainTest, ADeviceThatIsKeptAwayBecauseOfItsHealthSaysSo) {
  Hold("node-1-a", "p1");
  picture_.nodes.pop_back();
  cluster_.Taint("node-1-b");
  picture_.health[{"d", "node-1", "node-1-b"}] = "XidGpuLost for 6 m";
  EXPECT_THAT(Steps(), Contains("Tainted 1 node-1/node-1-b XidGpuLost for 6 m (sick)"));
}

TEST_F(ExplainTest, ASelectorThatNothingMatchesNeverFitsUnlessItIsDropped) {
  for (const char* device : {"node-1-a", "node-1-b", "node-2-a", "node-2-b"}) {
    cluster_.Set(device, "model", std::string("small"));
  }
  Ask({TestCluster::Exactly("gpu", 1, "device.attributes[\"d\"].model == \"large\"")});
  EXPECT_EQ(It().prospect, Prospect::kNever);
  EXPECT_THAT(Steps(), ElementsAre("NotSelected 4 device.attributes[\"d\"].model == \"large\""));
  EXPECT_THAT(NearMisses(), ElementsAre("SelectorDropped: request gpu drops the selector "
                                        "device.attributes[\"d\"].model == \"large\""));
}

TEST_F(ExplainTest, MoreThanANodeHasNeverFitsAndTheMostIsNamed) {
  Ask({TestCluster::Exactly("gpu", 3)});
  const Explanation explanation = It();
  EXPECT_EQ(explanation.prospect, Prospect::kNever);
  EXPECT_EQ(explanation.requests.at(0).to_be_had, 4U);
  EXPECT_EQ(explanation.requests.at(0).nodes_alone, 0U);
  EXPECT_THAT(NearMisses(), ElementsAre("CountSmaller: request gpu asks for 2 instead of 3"));
}

TEST_F(ExplainTest, RequestsThatFitAloneAndNotTogetherSayOnHowManyNodesEachDoes) {
  Ask({TestCluster::Exactly("one", 1), TestCluster::Exactly("two", 2)});
  const Explanation explanation = It();
  EXPECT_EQ(explanation.prospect, Prospect::kNever);
  EXPECT_EQ(explanation.requests.at(0).nodes_alone, 2U);
  EXPECT_EQ(explanation.requests.at(1).nodes_alone, 2U);
}

// Many claims use up no other kind's tries.
TEST_F(ExplainTest, WhatElseWouldHelpIsFoundBesideHundredsOfClaims) {
  cluster_.node.name = "node-1";
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("n" + std::to_string(i));
  cluster_.AddSlice("many", "many", names);
  for (const std::string& name : names) {
    picture_.held.push_back(HeldBy({}, name, {{"d", "many", name}}));
  }
  picture_.nodes.pop_back();
  Ask({TestCluster::Exactly("gpu", 5)});
  EXPECT_THAT(NearMisses(), Contains("CountSmaller: request gpu asks for 2 instead of 5"));
}

TEST_F(ExplainTest, ANodeThatTwoThingsKeepThePodFromIsNotNamedForOne) {
  picture_.nodes[0].cordoned = true;
  picture_.nodes[1].cordoned = true;
  picture_.nodes[1].ready = false;
  EXPECT_THAT(NearMisses(), ElementsAre("NodeOpens: it could use node-1 (cordoned)"));
}

TEST_F(ExplainTest, AnIncompletePoolOfOtherDevicesLeavesNothingOpen) {
  picture_.nodes.pop_back();
  Hold("node-1-a", "p1");
  Hold("node-1-b", "p2");
  cluster_.node.name = "node-1";
  cluster_.AddSlice("other", "other", {"x"}).slice_count = 2;
  for (const char* device : {"node-1-a", "node-1-b"}) {
    cluster_.Set(device, "model", std::string("large"));
  }
  cluster_.Set("x", "model", std::string("small"));
  Ask({TestCluster::Exactly("gpu", 1, "device.attributes[\"d\"].model == \"large\"")});
  EXPECT_EQ(It().prospect, Prospect::kLater);
}

TEST_F(ExplainTest, AConstraintThatStandsAloneInTheWayIsNamed) {
  cluster_.Set("node-1-a", "root", std::string("r1"));
  cluster_.Set("node-1-b", "root", std::string("r2"));
  picture_.nodes.pop_back();
  Ask({TestCluster::Exactly("gpu", 2)}, {TestCluster::Match("root")});
  EXPECT_EQ(It().prospect, Prospect::kNever);
  EXPECT_THAT(
      NearMisses(),
      Contains("ConstraintDropped: claim claim drops the constraint matchAttribute d/root"));
}

TEST_F(ExplainTest, OneTaintedDeviceBlocksAllOfANodeUntilItGoes) {
  picture_.nodes.pop_back();
  cluster_.Taint("node-1-a");
  Ask({TestCluster::Request("gpu", TestCluster::WishAll())});
  EXPECT_EQ(It().prospect, Prospect::kLater);
  EXPECT_THAT(NearMisses(), Contains(HasSubstr("TaintGone")));
}

TEST_F(ExplainTest, OfARequestForAllEachDeviceIsCountedByWhatIsAgainstIt) {
  picture_.nodes.pop_back();
  Hold("node-1-a", "p1");
  Hold("node-1-b", "p2");
  Ask({TestCluster::Request("gpu", TestCluster::WishAll())});
  EXPECT_THAT(Steps(), Contains("InUse 2 ns/p1, ns/p2"));
  EXPECT_EQ(It().requests.at(0).to_be_had, 0U);
}

TEST_F(ExplainTest, WhatDoesNotMatchIsNotCountedAsHeld) {
  HoldAll();
  cluster_.Set("node-2-b", "model", std::string("large"));
  Ask({TestCluster::Exactly("gpu", 1,
                            "device.attributes[\"d\"].?model.orValue(\"\") == \"large\"")});
  EXPECT_THAT(Steps(), Contains("InUse 1 ns/p4"));
}

TEST_F(ExplainTest, AnIncompletePoolLeavesItOpen) {
  picture_.nodes.pop_back();
  cluster_.slices[0].slice_count = 2;
  const Explanation explanation = It();
  EXPECT_EQ(explanation.prospect, Prospect::kCannotTell);
  EXPECT_THAT(explanation.message, HasSubstr("2 devices of class gpu are in pools"));
}

TEST_F(ExplainTest, WhatCouldNotBeReadLeavesEverythingOpen) {
  picture_.gaps = {"claims of other namespaces could not be read"};
  const Explanation explanation = It();
  EXPECT_EQ(explanation.prospect, Prospect::kCannotTell);
  EXPECT_EQ(explanation.message, picture_.gaps[0]);
  EXPECT_THAT(explanation.nodes, ElementsAre("node-1", "node-2")) << "as far as is known";
}

TEST_F(ExplainTest, AClassThatIsNotThereRefusesThePod) {
  cluster_.classes.clear();
  const Explanation explanation = It();
  EXPECT_EQ(explanation.prospect, Prospect::kRefused);
  EXPECT_THAT(explanation.message, HasSubstr("gpu"));
}

TEST_F(ExplainTest, ASelectorThatFailsOnSomeDevicesIsAWarningEvenWhereItFits) {
  cluster_.Set("node-1-a", "index", std::int64_t{1});
  Ask({TestCluster::Exactly("gpu", 1, "device.attributes[\"d\"].index == 1")});
  const Explanation explanation = It();
  EXPECT_THAT(explanation.warnings, ElementsAre(AllOf(HasSubstr("cannot be evaluated on 3 devices"),
                                                      HasSubstr("no such key: index"))));
}

TEST_F(ExplainTest, OtherNodesAreAskedEvenWhereAClaimWithDevicesBindsThePodToItsNode) {
  NodeSelectorTerm here;
  here.fields.push_back(
      {.key = "metadata.name", .op = NodeRequirement::Operator::kIn, .values = {"node-1"}});
  question_.reach.held = {{.terms = {here}}};
  EXPECT_THAT(It().nodes, ElementsAre("node-1"));
  for (const char* device : {"node-1-a", "node-1-b"}) {
    cluster_.Set(device, "index", std::int64_t{1});
  }
  Ask({TestCluster::Exactly("gpu", 1, "device.attributes[\"d\"].index == 1")});
  EXPECT_EQ(It().prospect, Prospect::kRefused) << "the selector has an error on node-2";
}

TEST_F(ExplainTest, ReleasesWithoutAFixedOrderMayTakeOtherDevices) {
  picture_.slices = cluster_.slices;
  picture_.classes = cluster_.classes;
  const Options old{.minor = 35, .features = StockFeatures(35)};
  EXPECT_THAT(Explain(picture_, question_, old).warnings,
              ElementsAre(HasSubstr("in no fixed order")));
  EXPECT_THAT(It().warnings, IsEmpty());
}

TEST_F(ExplainTest, OlderReleasesThatDecideOtherwiseAreNamed) {
  for (const char* device : {"node-1-a", "node-1-b", "node-2-a", "node-2-b"}) {
    cluster_.Taint(device);
  }
  // Until 1.35 taints of devices were alpha, and off.
  const auto of = [](int minor) { return Field(&OtherRelease::minor, minor); };
  EXPECT_THAT(It().other_releases, ElementsAre(of(34), of(35)));
  EXPECT_EQ(It().other_releases.at(0).text, "finds 2 nodes");
}

TEST_F(ExplainTest, EachEntryOfFirstAvailableHasAFunnelOfItsOwn) {
  HoldAll();
  Ask({TestCluster::FirstOf("gpu", {TestCluster::Wish(2), TestCluster::Wish(1)})});
  const Explanation explanation = It();
  ASSERT_EQ(explanation.requests.size(), 2U);
  EXPECT_EQ(explanation.requests[0].request, "gpu/a");
  EXPECT_EQ(explanation.requests[0].wanted, 2);
  EXPECT_EQ(explanation.requests[1].request, "gpu/b");
}

TEST(Listed, NamesAFewAndCountsTheRest) {
  EXPECT_EQ(Listed({}, 2), "");
  EXPECT_EQ(Listed({"a", "b", "c"}, 2), "a, b, c") << "one more needs no count";
  EXPECT_EQ(Listed({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

}  // namespace
}  // namespace galen::alloc
