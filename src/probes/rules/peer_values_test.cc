#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rule_file/test_faults.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

PeerValues Filled(const std::vector<double>& values) {
  PeerValues peers;
  peers.Clear();
  for (const double value : values) peers.Add(value);
  peers.Settle();
  return peers;
}

TEST(PeerValues, TheMedianIsThatOfTheOthers) {
  EXPECT_EQ(Filled({40, 10, 30, 20}).MedianOfOthers(40), 20);
  EXPECT_EQ(Filled({40, 10, 30, 20}).MedianOfOthers(10), 30);
  EXPECT_EQ(Filled({5, 1, 2, 3, 4}).MedianOfOthers(5), 2.5);
  EXPECT_EQ(Filled({5, 1, 2, 3, 4}).MedianOfOthers(1), 3.5);
  EXPECT_EQ(Filled({7, 7, 7, 7}).MedianOfOthers(7), 7);
}

TEST(PeerValues, ThereIsNoneOfTooFewOrOfNothing) {
  EXPECT_EQ(Filled({1, 2, 3}).MedianOfOthers(1), std::nullopt);
  EXPECT_EQ(Filled({1, 2, 3, 4}).MedianOfOthers(9), std::nullopt) << "not among them";
  EXPECT_EQ(Filled({0, 0, 0, 1}).MedianOfOthers(1), std::nullopt) << "no share of zero";
  EXPECT_EQ(Filled({}).MedianOfOthers(1), std::nullopt);
}

constexpr std::string_view kPeerRules = R"(
signs:
  - {name: speed, kind: reading, unit: GB/s}
  - {name: reasons, kind: reading}
  - {name: temperature, kind: reading}
  - {name: fault, kind: event}
  - {name: reset, kind: event}
rules:
  - {id: slow, sign: speed, when: "< 80 % of peers", leave: 90, state: Degraded, share: ratio,
     code: SlowerThanPeers, owner: Hardware,
     sentence: "{value} {unit}, its peers have {expected}: {share} bandwidth"}
  - {id: held-back, sign: reasons, when: "any of 0x60", state: Degraded, share: 1, code: HeldBack,
     owner: Platform, sentence: "held back: {value} has bits of {threshold}"}
  - {id: hot, sign: temperature, when: "> 80", state: Degraded, share: 0.5, code: Hot,
     owner: Platform, sentence: hot, supersedes: [held-back]}
  - {id: burning, sign: temperature, when: "> 100", state: Unhealthy, code: Burning,
     owner: Hardware, sentence: burning, supersedes: [hot]}
  - {id: bit-fault, sign: fault, when: all of 0x5, state: Unhealthy, code: BitFault, until: reset,
     owner: Hardware, sentence: "fault {value}"}
  - {id: back, sign: reset, when: == device, state: Healthy, code: Back, owner: Platform,
     sentence: back, clears: [reset]}
)";

// Five devices, of which the first four are of one model.
class PeersTest : public ::testing::Test {
 protected:
  PeersTest() {
    engine_.SetDevices({"a", "b", "c", "d", "e"}, At());
    engine_.SetModels({{"a", "H"}, {"b", "H"}, {"c", "H"}, {"d", "H"}, {"e", "K"}});
  }
  Instant At() const { return {Time(now_), WallTime(now_)}; }
  Sign Make(std::string device, std::string name, double value) const {
    return {.device = std::move(device),
            .name = std::move(name),
            .value = value,
            .unit = "GB/s",
            .time = At().wall};
  }
  // A look at all five.
  void Show(const std::string& name, std::vector<double> values) {
    std::vector<Sign> signs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      signs.push_back(Make(std::string(1, static_cast<char>('a' + i)), name, values[i]));
    }
    Evaluate(signs);
  }
  void Evaluate(const std::vector<Sign>& signs) {
    now_ += 1s;
    engine_.Evaluate(signs, At());
  }
  DeviceHealth Of(std::string_view device) const {
    for (const DeviceHealth& health : engine_.Snapshot()) {
      if (health.id.device == device) return health;
    }
    return {};
  }

  const RuleTable table_ = *ParseRules(kPeerRules, "test");
  Duration now_ = 100h;
  RuleEngine engine_{table_, {}};
};

TEST_F(PeersTest, ADeviceThatFallsBehindItsPeersIsDegradedByWhatItLacks) {
  Show("speed", {50, 100, 102, 98, 10});
  EXPECT_EQ(Of("a").state, HealthState::kDegraded);
  EXPECT_EQ(Of("a").share, 0.5);
  EXPECT_EQ(Of("a").cause.message, "50 GB/s, its peers have 100: half the bandwidth");
  EXPECT_EQ(Of("b").state, HealthState::kHealthy);
  EXPECT_EQ(Of("e").state, HealthState::kHealthy) << "of another model";
}

TEST_F(PeersTest, TheThresholdToLeaveIsAShareOfPeersToo) {
  Show("speed", {70, 100, 100, 100, 10});
  Show("speed", {85, 100, 100, 100, 10});
  EXPECT_EQ(Of("a").state, HealthState::kDegraded);
  Show("speed", {91, 100, 100, 100, 10});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

// A part has the three other wholes as peers, and no part of its own whole.
TEST_F(PeersTest, PartsOfOneWholeHaveOneVote) {
  engine_.SetDevices({"a", "b", "c", "d", "e", "f", "g", "h"}, At());
  std::map<std::string, std::string> models, wholes;
  for (char name = 'a'; name <= 'h'; ++name) models[std::string(1, name)] = "H";
  for (char name = 'a'; name <= 'e'; ++name) wholes[std::string(1, name)] = "GPU-1";
  engine_.SetModels(models, wholes);
  Show("speed", {50, 50, 50, 50, 50, 100, 100, 98});
  EXPECT_EQ(Of("a").cause.message, "50 GB/s, its peers have 100: half the bandwidth");
  EXPECT_EQ(Of("e").state, HealthState::kDegraded);
  EXPECT_EQ(Of("f").state, HealthState::kHealthy) << "a majority of parts is none";
  models.erase("h");
  engine_.SetModels(models, wholes);
  Show("speed", {50, 50, 50, 50, 50, 100, 100, 98});
  EXPECT_EQ(Of("a").cause.code, cause_code::kPeersMissing) << "two wholes are too few";
}

TEST_F(PeersTest, WhereAllAreSlowNobodyFallsBehind) {
  Show("speed", {100, 100, 100, 100, 10});
  Show("speed", {20, 20, 20, 20, 10});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

TEST_F(PeersTest, APeerThatCannotBeReadIsNone) {
  // It comes last: what it showed before must not count for those before it.
  Show("speed", {50, 100, 100, 100, 10});
  Sign broken = Make("d", "speed", 0);
  broken.error = "no";
  Evaluate({Make("a", "speed", 50), Make("b", "speed", 100), Make("c", "speed", 100), broken});
  EXPECT_EQ(Of("a").state, HealthState::kUnknown) << "it was bad, and nobody knows now";
  EXPECT_EQ(Of("a").cause.code, cause_code::kPeersMissing);
  EXPECT_THAT(Of("a").cause.message, HasSubstr("cannot compare speed with peers"));
  EXPECT_EQ(Of("b").state, HealthState::kHealthy) << "it was well, and nothing speaks against it";
  const WallTime since = Of("a").since;
  Evaluate({Make("a", "speed", 50), Make("b", "speed", 100), Make("c", "speed", 100), broken});
  EXPECT_EQ(Of("a").since, since);
  Show("speed", {100, 100, 100, 100, 10});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

TEST_F(PeersTest, WhatWasBadBeforeItsPeersWentIsUnknownAfterAReloadOrARestart) {
  Show("speed", {50, 100, 100, 100, 10});
  Sign broken = Make("d", "speed", 0);
  broken.error = "no";
  const std::vector<Sign> look = {Make("a", "speed", 50), Make("b", "speed", 100),
                                  Make("c", "speed", 100), broken};
  Evaluate(look);
  const DeviceHealth lost = Of("a");
  const RuleTable again = *ParseRules(kPeerRules, "again");
  engine_.SetTable(again, At());
  EXPECT_EQ(Of("a").cause, lost.cause);
  EXPECT_EQ(Of("a").since, lost.since);

  RuleEngine next(again, {});
  next.SetDevices({"a", "b", "c", "d", "e"}, At());
  next.SetModels({{"a", "H"}, {"b", "H"}, {"c", "H"}, {"d", "H"}, {"e", "K"}});
  next.Restore(engine_.Save(), At());
  next.Evaluate(look, At());
  EXPECT_EQ(next.Snapshot()[0].cause, lost.cause);
  EXPECT_EQ(next.Snapshot()[0].since, lost.since);
  engine_.SetTable(table_, At());
}

TEST_F(PeersTest, WhatWasBadBeforeItCouldNotBeReadNeedsPeersToBeWell) {
  Show("speed", {50, 100, 100, 100, 10});
  Sign broken = Make("a", "speed", 0);
  broken.error = "no";
  Evaluate({broken});
  EXPECT_EQ(Of("a").cause.code, cause_code::kSignUnreadable);
  Sign away = Make("d", "speed", 0);
  away.error = "no";
  Evaluate({away, Make("a", "speed", 50)});
  EXPECT_EQ(Of("a").cause.code, cause_code::kPeersMissing);
  Show("speed", {100, 100, 100, 100, 10});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

TEST_F(PeersTest, WhatWasBadBeforeALookFailedNeedsPeersToBeWell) {
  Show("speed", {50, 100, 100, 100, 10});
  engine_.ObserveFailed(Unavailable("no files"), At());
  EXPECT_EQ(Of("a").cause.code, cause_code::kSignUnreadable);
  Sign broken = Make("d", "speed", 0);
  broken.error = "no";
  Evaluate({broken, Make("a", "speed", 50)});
  EXPECT_EQ(Of("a").cause.code, cause_code::kPeersMissing);
}

TEST_F(PeersTest, WhatWasBadBeforeItFellSilentNeedsPeersToBeWell) {
  Show("speed", {50, 100, 100, 100, 10});
  now_ += 60s;
  Evaluate({});
  EXPECT_EQ(Of("a").cause.code, cause_code::kProbeSilent);
  Evaluate({Make("a", "speed", 50)});
  EXPECT_EQ(Of("a").cause.code, cause_code::kPeersMissing);
  Show("speed", {100, 100, 100, 100, 10});
  Show("speed", {100, 100, 100, 100, 10});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy) << "once its peers are heard of again";
}

TEST_F(PeersTest, TooFewPeersOrASilentOneMakeNothingBad) {
  engine_.SetDevices({"a", "b", "c"}, At());
  Show("speed", {1, 100, 100});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

TEST_F(PeersTest, APeerThatFellSilentDoesNotCount) {
  Show("speed", {100, 100, 100, 100, 10});
  now_ += 60s;
  Evaluate({Make("a", "speed", 1), Make("b", "speed", 100), Make("c", "speed", 100)});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
  EXPECT_EQ(Of("d").cause.code, cause_code::kProbeSilent);
}

TEST_F(PeersTest, ADeviceThatLeftIsNobodysPeer) {
  Show("speed", {100, 100, 100, 100, 10});
  engine_.SetDevices({"a", "b", "c", "e"}, At());
  Evaluate({Make("a", "speed", 1)});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

TEST_F(PeersTest, SmallMovesOfPeersAreNoNews) {
  Show("speed", {50, 100, 100, 100, 10});
  now_ += 1s;
  const auto changes =
      engine_.Evaluate({Make("a", "speed", 52), Make("b", "speed", 104)}, At()).changes;
  EXPECT_TRUE(changes.empty());
  Show("speed", {20, 100, 100, 100, 10});
  EXPECT_EQ(Of("a").share, 0.2);
}

TEST_F(PeersTest, BitsOfAReadingAreLookedAtOneByOne) {
  Evaluate({Make("a", "reasons", 0x41)});
  EXPECT_EQ(Of("a").cause.message, "held back: 65 has bits of 0x60");
  Evaluate({Make("a", "reasons", 0x9f)});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
}

TEST_F(PeersTest, WhatHasNoBitsIsUnknown) {
  for (const double value : {-1.0, 0.5, 1e18}) {
    Evaluate({Make("a", "reasons", 0)});
    EXPECT_EQ(Of("a").state, HealthState::kHealthy);
    Evaluate({Make("a", "reasons", value)});
    EXPECT_EQ(Of("a").state, HealthState::kUnknown) << value;
    EXPECT_THAT(Of("a").cause.message, HasSubstr("is not a whole number with bits"));
  }
}

TEST_F(PeersTest, BitsOfAnEventAreLookedAtToo) {
  Evaluate({Make("a", "reasons", 0), Make("a", "fault", 0x4)});
  EXPECT_EQ(Of("a").state, HealthState::kHealthy);
  Evaluate({Make("a", "fault", 0xd)});
  EXPECT_EQ(Of("a").cause.message, "fault 13");
}

TEST_F(PeersTest, ARuleThatHoldsSilencesWhatFollowsFromIt) {
  Evaluate({Make("a", "reasons", 0x20), Make("a", "temperature", 50)});
  EXPECT_EQ(Of("a").cause.code, "HeldBack");
  Evaluate({Make("a", "temperature", 90)});
  EXPECT_EQ(Of("a").cause.code, "Hot");
  ASSERT_EQ(engine_.Findings("a").size(), 1u);
  EXPECT_EQ(engine_.SupersededBy("a", "held-back"), "hot");
  EXPECT_EQ(engine_.SupersededBy("b", "held-back"), "");
  // Also one that is silenced itself: what follows from it follows from its root.
  Evaluate({Make("a", "temperature", 120)});
  ASSERT_EQ(engine_.Findings("a").size(), 1u);
  EXPECT_EQ(engine_.Findings("a")[0].first, "burning");
  Evaluate({Make("a", "temperature", 50)});
  EXPECT_EQ(Of("a").cause.code, "HeldBack") << "it holds still, and counts again";
}

std::string FaultsOfPeerRules(const std::string& rules) {
  const std::string text =
      "signs:\n- {name: s, kind: reading}\n- {name: e, kind: event}\nrules:\n" + rules;
  return WithoutColumns(ParseRules(text, "r.yaml").status().message());
}

std::string RuleText(const std::string& id, const std::string& more) {
  return "- {id: " + id +
         ", sign: s, when: '> 1', state: Unhealthy, code: C, owner: Driver, "
         "sentence: s, " +
         more + "}\n";
}

TEST(Supersedes, NamesOnlyRulesThatThereAreAndNoCircle) {
  EXPECT_EQ(FaultsOfPeerRules(RuleText("a", "supersedes: [b]") + RuleText("b", "")), "");
  EXPECT_THAT(FaultsOfPeerRules(RuleText("a", "supersedes: [x]")),
              HasSubstr("r.yaml:5: a: supersedes 'x' is not a rule of this file"));
  EXPECT_THAT(FaultsOfPeerRules(RuleText("a", "supersedes: [a]")),
              HasSubstr("'a' supersedes this rule, itself or by others"));
  EXPECT_THAT(FaultsOfPeerRules(
                  "- {id: a, sign: s, when: '> 1', state: Degraded, share: 0.5, code: C, owner: "
                  "Driver, sentence: s, supersedes: [b]}\n" +
                  RuleText("b", "")),
              HasSubstr("a: supersedes 'b' is worse than this rule, which would hide it"));
  const std::string circle =
      FaultsOfPeerRules(RuleText("a", "supersedes: [b]") + RuleText("b", "supersedes: [c]") +
                        RuleText("c", "supersedes: [a]"));
  EXPECT_THAT(circle, HasSubstr("r.yaml:5: a: supersedes 'b' supersedes this rule"));
  EXPECT_THAT(circle, HasSubstr("r.yaml:7: c: supersedes 'a' supersedes this rule"));
  EXPECT_THAT(
      FaultsOfPeerRules("- {id: a, sign: e, when: in 1, state: Healthy, code: C, owner: Driver, "
                        "sentence: s, because: b, supersedes: [a]}\n"),
      HasSubstr("a: supersedes stands in a Healthy rule, which finds nothing"));
}

TEST(RuleFaults, HaveTheColumnOfTheirField) {
  const std::string faults = ParseRules(
                                 "signs:\n"
                                 "- {name: s, unit: °C, kind: reading, least: hot}\n"
                                 "- name: t\n"
                                 "  kind: reading\n"
                                 "  most: °\n"
                                 "rules:\n"
                                 "  - {id: a, sign: s, when: '> x'}\n"
                                 "rules2: []\n",
                                 "r.yaml")
                                 .status()
                                 .message();
  // The column of a character, not of a byte.
  EXPECT_THAT(faults, HasSubstr("r.yaml:2:38: s: least is not a number"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:5:3: t: most is not a number"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:7:22: a: when '"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:7:3: a: state is missing"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:8:1: file: rules2 is not a part of a rules file"));
}

TEST(PeersRule, RefusesWhatHasNoMeaning) {
  EXPECT_THAT(
      FaultsOfPeerRules("- {id: a, sign: e, when: '> 2 % of peers', state: Unhealthy, code: C, "
                        "owner: Driver, until: 1h, sentence: s}\n"),
      HasSubstr("a: when compares with peers, but an event happens to one"));
  EXPECT_THAT(
      FaultsOfPeerRules("- {id: a, sign: s, when: '< 80 % of peers', leave: 70, state: Unhealthy, "
                        "code: C, owner: Driver, sentence: s}\n"),
      HasSubstr("a: leave is below the threshold it should be above"));
}

}  // namespace
}  // namespace galen::probes
