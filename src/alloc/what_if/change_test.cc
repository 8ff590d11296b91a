#include "alloc/what_if/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/explanation/test_held.h"
#include "alloc/selection/test_cluster.h"

namespace galen::alloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// node-1 with gpu a, held by Pod ns/p, and gpu b.
class ChangeTest : public ::testing::Test {
 protected:
  ChangeTest() {
    TestCluster cluster;
    cluster.AddSlice("s", "pool/1", {"a", "b"});
    picture_.slices = cluster.slices;
    picture_.nodes = {{.node = cluster.node, .ready = true}};
    picture_.held = {HeldBy({{"ns", "p"}}, "c", {{"d", "pool/1", "a"}})};
  }
  StatusOr<Changed> After(const std::string& text) {
    ASSIGN_OR_RETURN(const Change change, ParseChange(text));
    return Apply({change}, picture_);
  }

  Picture picture_;
};

TEST_F(ChangeTest, AQuarantinedDeviceIsTaintedAndItsHolderAVictim) {
  const Changed changed = After("quarantine=d/pool/1/a").value();
  ASSERT_EQ(changed.picture.rules.size(), 1U);
  EXPECT_EQ(changed.picture.rules[0].taint.effect, TaintEffect::kNoExecute);
  EXPECT_THAT(changed.victims, ElementsAre(0));
  EXPECT_THAT(After("quarantine=d/pool/1/b")->victims, IsEmpty());
}

TEST_F(ChangeTest, WhoToleratesEverythingStays) {
  picture_.held[0].allocation.devices[0].tolerations = {
      {.key = "", .op = DeviceToleration::Operator::kExists}};
  EXPECT_THAT(After("quarantine=d/pool/1/a")->victims, IsEmpty());
}

TEST_F(ChangeTest, ADrainedNodeIsCordonedAndAllItsHoldersAreVictims) {
  const Changed changed = After("drain=node-1").value();
  EXPECT_TRUE(changed.picture.nodes[0].cordoned);
  EXPECT_THAT(changed.victims, ElementsAre(0));
}

TEST_F(ChangeTest, ADeletedPodFreesWhatOnlyItUsed) {
  EXPECT_THAT(After("delete=ns/p")->picture.held[0].allocation.devices, IsEmpty());
  picture_.held[0].pods.push_back({"ns", "q"});
  EXPECT_EQ(After("delete=ns/p")->picture.held[0].allocation.devices.size(), 1U);
}

TEST_F(ChangeTest, AnAddedNodeHasTheSameDevicesUnderAPoolOfItsOwn) {
  picture_.nodes[0].cordoned = true;
  const Changed changed = After("add-node=node-1").value();
  ASSERT_EQ(changed.picture.nodes.size(), 2U);
  EXPECT_FALSE(changed.picture.nodes[1].cordoned);
  ASSERT_EQ(changed.picture.slices.size(), 2U);
  EXPECT_EQ(changed.picture.slices[1].nodes.node, changed.picture.nodes[1].node.name);
  EXPECT_NE(changed.picture.slices[1].pool, changed.picture.slices[0].pool);
}

TEST_F(ChangeTest, TwoAddedNodesAreTwo) {
  picture_.nodes[0].node.labels["kubernetes.io/hostname"] = "node-1";
  const std::vector<Change> twice(2, *ParseChange("add-node=node-1"));
  const Changed changed = Apply(twice, picture_).value();
  ASSERT_EQ(changed.picture.nodes.size(), 3U);
  EXPECT_NE(changed.picture.nodes[1].node.name, changed.picture.nodes[2].node.name);
  EXPECT_NE(changed.picture.slices[1].pool, changed.picture.slices[2].pool);
  EXPECT_EQ(changed.picture.nodes[1].node.labels.at("kubernetes.io/hostname"),
            changed.picture.nodes[1].node.name);
}

TEST_F(ChangeTest, ADeletedPodFreesNoClaimOfOthers) {
  picture_.held.push_back(HeldBy({}, "unreserved", {{"d", "pool/1", "b"}}));
  EXPECT_EQ(After("delete=ns/p")->picture.held[1].allocation.devices.size(), 1U);
}

TEST_F(ChangeTest, AVictimOfTwoChangesIsOneVictim) {
  const Changed changed =
      Apply({*ParseChange("quarantine=d/pool/1/a"), *ParseChange("drain=node-1")}, picture_)
          .value();
  EXPECT_THAT(changed.victims, ElementsAre(0));
}

TEST_F(ChangeTest, WhatIsNotThereIsNamed) {
  for (const auto& [text, named] :
       {std::pair("quarantine=d/pool/1/z", "d/pool/1/z"), std::pair("drain=elsewhere", "elsewhere"),
        std::pair("delete=ns/nobody", "ns/nobody"), std::pair("add-node=elsewhere", "elsewhere")}) {
    const Status status = After(text).status();
    EXPECT_EQ(status.code(), Code::kNotFound) << text;
    EXPECT_THAT(status.message(), HasSubstr(named));
  }
}

TEST_F(ChangeTest, WhatIsNoChangeIsRefusedWithThoseThatAre) {
  for (const char* text : {"", "drain", "drain=", "quarantine=gpu-0", "quarantine=d/a", "delete=p",
                           "delete=/p", "explode=node-1", "quarantine=d/P_/a"}) {
    EXPECT_EQ(ParseChange(text).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_THAT(ParseChange("explode=now").status().message(), HasSubstr("drain=NODE"));
}

TEST_F(ChangeTest, EachChangeCanBeSaidInWords) {
  EXPECT_EQ(ToString(*ParseChange("quarantine=d/pool/1/a")), "device d/pool/1/a is quarantined");
  EXPECT_EQ(ToString(*ParseChange("drain=n")), "node n is drained");
  EXPECT_EQ(ToString(*ParseChange("delete=ns/p")), "Pod ns/p is deleted");
  EXPECT_EQ(ToString(*ParseChange("add-node=n")), "a node like n is added");
}

}  // namespace
}  // namespace galen::alloc
