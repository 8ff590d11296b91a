#include "alloc/what_if/relocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// node-1 and node-2 with two GPUs each.
class RelocationTest : public ::testing::Test {
 protected:
  RelocationTest() {
    TestCluster cluster;
    for (const char* name : {"node-1", "node-2"}) {
      cluster.node.name = name;
      cluster.AddSlice(std::string("s-") + name, name, {"a", "b"});
      picture_.nodes.push_back({.node = {.name = name}, .ready = true});
    }
    picture_.slices = cluster.slices;
    picture_.classes = cluster.classes;
  }
  HeldClaim& Hold(const std::string& name, const std::string& node,
                  const std::vector<std::string>& devices, DeviceRequest request) {
    HeldClaim held{.key = {"ns", name}, .claim = TestCluster::Claim({std::move(request)})};
    for (const std::string& device : devices) {
      held.allocation.devices.push_back({.request = "gpu", .id = {"d", node, device}});
    }
    picture_.held.push_back(std::move(held));
    return picture_.held.back();
  }
  Relocation After(std::vector<std::string> texts) {
    std::vector<Change> changes;
    for (const std::string& text : texts) changes.push_back(*ParseChange(text));
    return Relocate(Apply(changes, picture_).value(), picture_, Options());
  }

  Picture picture_;
};

TEST_F(RelocationTest, AVictimGoesWhereAnotherDeviceIsFree) {
  Hold("one", "node-1", {"a"}, TestCluster::Exactly("gpu", 1));
  const Relocation relocation = After({"quarantine=d/node-1/a"});
  EXPECT_EQ(relocation.verdict, Relocation::Verdict::kAll);
  ASSERT_EQ(relocation.victims.size(), 1U);
  EXPECT_THAT(relocation.victims[0].lost, ElementsAre(DeviceId{"d", "node-1", "a"}));
  EXPECT_EQ(relocation.victims[0].node, "node-1");
  EXPECT_THAT(relocation.victims[0].found, ElementsAre(DeviceId{"d", "node-1", "b"}));
}

TEST_F(RelocationTest, WithoutVictimsThereIsNothingToDo) {
  const Relocation relocation = After({"quarantine=d/node-1/a"});
  EXPECT_EQ(relocation.verdict, Relocation::Verdict::kAll);
  EXPECT_THAT(relocation.victims, IsEmpty());
}

TEST_F(RelocationTest, OfThreeVictimsTwoFindTheRoomThatIsLeft) {
  Hold("x", "node-1", {"a"}, TestCluster::Exactly("gpu", 1));
  Hold("y", "node-1", {"b"}, TestCluster::Exactly("gpu", 1));
  Hold("z", "node-2", {"a"}, TestCluster::Exactly("gpu", 1));
  const Relocation relocation = After({"drain=node-1"});
  EXPECT_EQ(relocation.verdict, Relocation::Verdict::kNotAll);
  ASSERT_EQ(relocation.victims.size(), 2U);
  const auto placed = std::count_if(relocation.victims.begin(), relocation.victims.end(),
                                    [](const Victim& victim) { return !victim.node.empty(); });
  EXPECT_EQ(placed, 1);
}

// The claim of one device must leave node-2 to the one of two, which the first fit would not.
TEST_F(RelocationTest, AJointPlaceIsFoundWhereTheFirstFitOfEachIsNone) {
  TestCluster cluster;
  cluster.node.name = "node-3";
  cluster.AddSlice("s-3", "node-3", {"a"});
  picture_.slices.push_back(cluster.slices[0]);
  picture_.nodes.push_back({.node = {.name = "node-3"}, .ready = true});
  Hold("small", "node-1", {"a"}, TestCluster::Exactly("gpu", 1));
  Hold("other", "node-1", {"b"}, TestCluster::Exactly("gpu", 1)).reach.selectors = {
      SelectorOfNode("node-2")};
  picture_.held.push_back(
      {.key = {"ns", "rest"},
       .allocation = {.devices = {{.request = "r", .id = {"d", "node-2", "a"}}}}});
  const Relocation relocation = After({"drain=node-1"});
  EXPECT_EQ(relocation.verdict, Relocation::Verdict::kAll);
  ASSERT_EQ(relocation.victims.size(), 2U);
  EXPECT_EQ(relocation.victims[0].claim.name, "other");
  EXPECT_EQ(relocation.victims[0].node, "node-2");
  EXPECT_EQ(relocation.victims[1].node, "node-3");
}

TEST_F(RelocationTest, APodThatMayGoNowhereElseHasNoPlace) {
  Hold("bound", "node-1", {"a"}, TestCluster::Exactly("gpu", 1)).reach.selectors = {
      SelectorOfNode("node-1")};
  EXPECT_EQ(After({"drain=node-1"}).verdict, Relocation::Verdict::kNotAll);
  EXPECT_EQ(After({"drain=node-1", "add-node=node-1"}).verdict, Relocation::Verdict::kNotAll)
      << "its name is another";
}

TEST_F(RelocationTest, WhereAClaimOfWhichTheRequestIsNotKnownGoesNobodyCanTell) {
  Hold("unknown", "node-1", {"a"}, TestCluster::Exactly("gpu", 1)).claim = {};
  EXPECT_EQ(After({"drain=node-1"}).verdict, Relocation::Verdict::kCannotTell);
}

TEST_F(RelocationTest, ClaimsOfOnePodGoToOneNode) {
  TestCluster cluster;
  cluster.node.name = "node-3";
  cluster.AddSlice("s-3", "node-3", {"a", "b"});
  picture_.slices.push_back(cluster.slices[0]);
  picture_.nodes.push_back({.node = {.name = "node-3"}, .ready = true});
  for (const char* device : {"a", "b"}) {
    Hold(device, "node-1", {device}, TestCluster::Exactly("gpu", 1)).pods = {{"ns", "p"}};
  }
  picture_.held.push_back(HeldBy({}, "rest", {{"d", "node-2", "a"}}));
  const Relocation relocation = After({"drain=node-1"});
  EXPECT_EQ(relocation.verdict, Relocation::Verdict::kAll);
  ASSERT_EQ(relocation.victims.size(), 2U);
  EXPECT_EQ(relocation.victims[0].node, "node-3") << "node-2 has room for one only";
  EXPECT_EQ(relocation.victims[1].node, "node-3");
  picture_.held.push_back(HeldBy({}, "more", {{"d", "node-3", "a"}}));
  EXPECT_EQ(After({"drain=node-1"}).verdict, Relocation::Verdict::kNotAll);
}

TEST_F(RelocationTest, AClaimThatStaysKeepsItsPodWhereItIs) {
  Hold("lost", "node-1", {"a"}, TestCluster::Exactly("gpu", 1)).pods = {{"ns", "p"}};
  HeldClaim& kept = Hold("kept", "node-1", {"b"}, TestCluster::Exactly("gpu", 1));
  kept.pods = {{"ns", "p"}};
  kept.allocation.node_selector = SelectorOfNode("node-1");
  EXPECT_EQ(After({"quarantine=d/node-1/a"}).verdict, Relocation::Verdict::kNotAll);
}

TEST_F(RelocationTest, AClaimOfAllThatCouldNotStartAnewBeforeIsNotBlamedOnTheChange) {
  Hold("all", "node-1", {"b"}, TestCluster::Request("gpu", TestCluster::WishAll()))
      .reach.selectors = {SelectorOfNode("node-1")};
  picture_.nodes[0].ready = false;
  EXPECT_THAT(After({"quarantine=d/node-1/a"}).blocked, IsEmpty());
}

TEST_F(RelocationTest, AClaimOfAllThatKeepsItsDevicesCouldNotStartAnewThere) {
  Hold("all", "node-1", {"b"}, TestCluster::Request("gpu", TestCluster::WishAll()))
      .reach.selectors = {SelectorOfNode("node-1")};
  const Relocation relocation = After({"quarantine=d/node-1/a"});
  EXPECT_THAT(relocation.victims, IsEmpty());
  EXPECT_THAT(relocation.blocked, ElementsAre(ObjectKey{"ns", "all"}));
}

TEST_F(RelocationTest, ManyVictimsWithoutRoomAreNotTriedForEver) {
  TestCluster cluster;
  std::vector<std::string> names;
  for (int i = 0; i < 24; ++i) names.push_back("g" + std::to_string(i));
  cluster.node.name = "node-1";
  cluster.AddSlice("s-big", "big", names);
  picture_.slices.push_back(cluster.slices[0]);
  for (const std::string& name : names) {
    Hold(name, "big", {name}, TestCluster::Exactly("gpu", 1));
  }
  const Relocation relocation = After({"drain=node-1"});
  EXPECT_NE(relocation.verdict, Relocation::Verdict::kAll);
  const auto placed = std::count_if(relocation.victims.begin(), relocation.victims.end(),
                                    [](const Victim& victim) { return !victim.node.empty(); });
  EXPECT_EQ(placed, 2);
}

}  // namespace
}  // namespace galen::alloc
