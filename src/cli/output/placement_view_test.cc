#include "cli/output/placement_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PlacementViewTest : public ::testing::Test {
 protected:
  std::string Text() const { return PlacementText(asked_, explanation_, picture_); }

  PodQuestion asked_{.subject = "Pod ns/p"};
  alloc::Explanation explanation_;
  alloc::Picture picture_;
};

TEST_F(PlacementViewTest, WhatFitsNamesNodesAndDevices) {
  explanation_.prospect = alloc::Prospect::kNow;
  explanation_.nodes = {"n1", "n2"};
  explanation_.example = {{.devices = {{.request = "gpu", .id = {"d", "n1", "gpu-0"}}}}};
  EXPECT_EQ(Text(), "Pod ns/p can be placed now: on n1, n2; on n1 it would get gpu-0.\n");
}

TEST_F(PlacementViewTest, TheFunnelEndsWithWhatIsToBeHad) {
  explanation_.prospect = alloc::Prospect::kLater;
  explanation_.requests = {
      {.claim = {"ns", "c"},
       .request = "gpu",
       .class_name = "h200",
       .wanted = 2,
       .of_class = 3,
       .to_be_had = 1,
       .steps = {
           {.code = "InUse", .devices = 2, .text = "held by other claims", .detail = "ns/q"}}}};
  explanation_.near_misses = {{.code = "ClaimEnds", .text = "ns/q ends"},
                              {.code = "CountSmaller", .text = "request gpu asks for 1"}};
  EXPECT_EQ(Text(),
            "Pod ns/p cannot be placed now.\n"
            "  request gpu of claim c wants 2 devices of class h200, which has 3\n"
            "      2  held by other claims  ns/q\n"
            "      1  to be had             enough for this request alone on 0 nodes\n"
            "  would fit if    ns/q ends\n"
            "                  request gpu asks for 1\n");
}

TEST_F(PlacementViewTest, WhatIsNotKnownComesFirstAndOnce) {
  explanation_.prospect = alloc::Prospect::kCannotTell;
  explanation_.message = "no claims";
  picture_.gaps = {"no claims", "no rules"};
  EXPECT_THAT(Text(), StartsWith("Whether Pod ns/p can be placed cannot be said: no claims.\n"));
  EXPECT_THAT(Text(), HasSubstr("not known       no rules\n"));
}

TEST_F(PlacementViewTest, NamesOfOthersDoNotControlTheTerminal) {
  explanation_.prospect = alloc::Prospect::kRefused;
  explanation_.requests = {{.claim = {"ns", "\x1b[4J"},
                            .request = "gpu",
                            .steps = {{.code = "Tainted", .devices = 1, .detail = "\x1b[5J"}}}};
  explanation_.message = "\x1b[2J";
  explanation_.warnings = {"\x1b[3J"};
  EXPECT_THAT(Text(), Not(HasSubstr("\x1b")));
}

TEST_F(PlacementViewTest, WhatAChangeCostsIsALineForEachClaimThatLosesDevices) {
  alloc::Relocation relocation{.verdict = alloc::Relocation::Verdict::kNotAll};
  relocation.victims = {{.claim = {"ns", "a"},
                         .pods = {{"ns", "p"}},
                         .lost = {{"d", "n1", "gpu-0"}},
                         .node = "n2",
                         .found = {{"d", "n2", "gpu-0"}}},
                        {.claim = {"ns", "b"}, .lost = {{"d", "n1", "gpu-1"}}}};
  relocation.blocked = {{"ns", "all"}};
  const std::vector<alloc::Change> changes = {alloc::Drain{.node = "n1"}};
  EXPECT_EQ(RelocationText(changes, relocation, picture_),
            "If node n1 is drained: 2 claims lose devices, and others were found for 1 of them.\n"
            "CLAIM  PODS  LOSES       CAN HAVE    ON\n"
            "ns/a   ns/p  d/n1/gpu-0  d/n2/gpu-0  n2\n"
            "ns/b         d/n1/gpu-1  nothing\n"
            "  could not start anew ns/all\n");
  const Json json = RelocationJson(changes, relocation, picture_);
  EXPECT_EQ(json["verdict"].AsString(), "NotAll");
  EXPECT_EQ(json["victims"][0]["found"][0].AsString(), "d/n2/gpu-0");
  EXPECT_EQ(json["blocked"][0].AsString(), "ns/all");
}

TEST_F(PlacementViewTest, AChangeThatCostsNothingSaysSo) {
  EXPECT_EQ(RelocationText({alloc::DeletePod{.pod = {"ns", "p"}}}, {}, picture_),
            "If Pod ns/p is deleted: nobody loses a device.\n");
}

TEST_F(PlacementViewTest, ProgramsReadCodesAndCounts) {
  explanation_.prospect = alloc::Prospect::kNever;
  explanation_.requests = {{.claim = {"ns", "c"},
                            .request = "gpu",
                            .class_name = "h200",
                            .all = true,
                            .of_class = 3,
                            .steps = {{.code = "Tainted", .devices = 3}}}};
  explanation_.other_releases = {{.minor = 34, .text = "finds a node"}};
  const Json json = PlacementJson(asked_, explanation_, picture_);
  EXPECT_EQ(json["prospect"].AsString(), "Never");
  EXPECT_EQ(json["requests"][0]["mode"].AsString(), "All");
  EXPECT_FALSE(json["requests"][0].Has("count"));
  EXPECT_EQ(json["requests"][0]["steps"][0]["code"].AsString(), "Tainted");
  EXPECT_EQ(json["requests"][0]["steps"][0]["devices"].AsInt(), 3);
  EXPECT_EQ(json["otherReleases"][0]["release"].AsString(), "1.34");
}

}  // namespace
}  // namespace galen::cli
