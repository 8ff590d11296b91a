#include "probes/rules/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Match Parsed(std::string_view text) {
  StatusOr<Match> match = ParseMatch(text);
  EXPECT_TRUE(match.ok()) << text << ": " << match.status().message();
  return match.ok() ? *match : Match();
}

TEST(RuleMatch, ReadsComparisonsWithNumbersTextsAndTheBest) {
  EXPECT_EQ(Parsed("> 85"), Match(Comparison{Compare::kAbove, 85.0}));
  EXPECT_EQ(Parsed(">=85.5"), Match(Comparison{Compare::kAtLeast, 85.5}));
  EXPECT_EQ(Parsed("<= -1"), Match(Comparison{Compare::kAtMost, -1.0}));
  EXPECT_EQ(Parsed("!= 0"), Match(Comparison{Compare::kNotEqual, 0.0}));
  EXPECT_EQ(Parsed("== lower layer down"),
            Match(Comparison{Compare::kEqual, std::string("lower layer down")}));
  EXPECT_EQ(Parsed("> 85 °C"), Match(Comparison{Compare::kAbove, 85.0, "°C"}));
  EXPECT_EQ(Parsed("<= 0.5 GB/s"), Match(Comparison{Compare::kAtMost, 0.5, "GB/s"}));
  EXPECT_EQ(Parsed("!= 16 lanes"), Match(Comparison{Compare::kNotEqual, 16.0, "lanes"}));
  EXPECT_EQ(Parsed("< expected"), Match(Comparison{Compare::kBelow, Expected{}}));
  EXPECT_EQ(Parsed("< baseline"), Match(Comparison{Compare::kBelow, Baseline{}}));
}

TEST(RuleMatch, ReadsNumbersRisesAndTheRest) {
  EXPECT_EQ(Parsed("in 13, 31-33,45"), Match(NumberSet{{{13, 13}, {31, 33}, {45, 45}}}));
  EXPECT_EQ(Parsed("rises > 10 in 60s"), Match(Rise{10, 60s}));
  EXPECT_EQ(Parsed("other"), Match(Other{}));
}

TEST(RuleMatch, RefusesWhatItDoesNotUnderstandAndShowsTheForms) {
  for (const std::string_view text : {"",
                                      ">",
                                      "85",
                                      "> hot",
                                      "> nan",
                                      "== ",
                                      "in",
                                      "in ",
                                      "in 5-3",
                                      "in a",
                                      "in 1 2",
                                      "in 1,",
                                      "rises",
                                      "rises 10 in 60s",
                                      "rises > x in 60s",
                                      "rises > 10",
                                      "rises > 10 in soon",
                                      "rises > -1 in 60s",
                                      "rises > 10 in 0s",
                                      "others",
                                      "< 0 % of peers",
                                      "< -5 % of peers",
                                      "< x % of peers",
                                      "== 90 % of peers",
                                      "< 90 % of pears",
                                      "any of",
                                      "any of 0",
                                      "any of 0x",
                                      "any of 0xg",
                                      "any of -1",
                                      "all of 0x20000000000000",
                                      "some of 0x1",
                                      "> baseline",
                                      "== baseline"}) {
    const StatusOr<Match> match = ParseMatch(text);
    EXPECT_FALSE(match.ok()) << text;
    EXPECT_NE(match.status().message(), "") << text;
  }
  EXPECT_THAT(ParseMatch("hot").status().message(), HasSubstr("\"> 85\""));
}

TEST(RuleMatch, NumberSetsIncludeBothEndsOfARange) {
  const NumberSet set{{{13, 13}, {31, 33}}};
  for (const int inside : {13, 31, 32, 33}) EXPECT_TRUE(set.Contains(inside)) << inside;
  for (const int outside : {12, 14, 30, 34, -13}) EXPECT_FALSE(set.Contains(outside)) << outside;
}

TEST(RuleMatch, ComparesAsItsSignSays) {
  EXPECT_TRUE(Holds(Compare::kAbove, 86, 85));
  EXPECT_FALSE(Holds(Compare::kAbove, 85, 85));
  EXPECT_TRUE(Holds(Compare::kAtLeast, 85, 85));
  EXPECT_TRUE(Holds(Compare::kBelow, 84, 85));
  EXPECT_FALSE(Holds(Compare::kBelow, 85, 85));
  EXPECT_TRUE(Holds(Compare::kAtMost, 85, 85));
  EXPECT_TRUE(Holds(Compare::kEqual, 1, 1));
  EXPECT_TRUE(Holds(Compare::kNotEqual, 1, 2));
}

TEST(RuleTable, FindsByName) {
  RuleTable table;
  table.signs.push_back({.name = "xid"});
  table.rules.emplace_back().id = "xid-79";
  EXPECT_EQ(table.FindSign("xid"), &table.signs[0]);
  EXPECT_EQ(table.FindSign("xi"), nullptr);
  EXPECT_EQ(table.FindRule("xid-79"), &table.rules[0]);
  EXPECT_EQ(table.FindRule("xid-7"), nullptr);
}

TEST(ParseMatch, ReadsPeersAndBits) {
  EXPECT_EQ(*ParseMatch("< 90 % of peers"), Match(Comparison{Compare::kBelow, Peers{0.9}}));
  EXPECT_EQ(*ParseMatch("any of 0x60"), Match(BitMask{BitMask::Need::kAny, 0x60}));
  EXPECT_EQ(*ParseMatch("all of 3"), Match(BitMask{BitMask::Need::kAll, 3}));
  EXPECT_EQ(*ParseMatch("none of 0x1"), Match(BitMask{BitMask::Need::kNone, 1}));
  EXPECT_TRUE((BitMask{BitMask::Need::kAny, 0x60}).Matches(0x20));
  EXPECT_FALSE((BitMask{BitMask::Need::kAny, 0x60}).Matches(0x9f));
  EXPECT_TRUE((BitMask{BitMask::Need::kAll, 3}).Matches(7));
  EXPECT_FALSE((BitMask{BitMask::Need::kAll, 3}).Matches(2));
  EXPECT_TRUE((BitMask{BitMask::Need::kNone, 3}).Matches(4));
  EXPECT_FALSE((BitMask{BitMask::Need::kNone, 3}).Matches(1));
}

}  // namespace
}  // namespace galen::probes
