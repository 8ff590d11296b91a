#include "probes/rules/rule_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kTable = R"(
signs:
  - {name: temperature, kind: reading, unit: °C}
  - {name: width, kind: reading}
  - {name: load, kind: reading}
  - {name: link, kind: reading}
  - {name: speed, kind: reading}
  - {name: xid, kind: event}
  - {name: reset, kind: event}
rules:
  - {id: hot, sign: temperature, when: "> 85", state: Unhealthy, code: Hot, owner: Hardware,
     sentence: "{value} exceeds {threshold}", enter_for: 3s, leave: 82}
  - {id: narrow, sign: width, when: "< expected", while: load > 20, state: Degraded, share: ratio,
     code: Narrow, owner: Hardware, sentence: "x{value} of x{expected}"}
  - {id: slow, sign: speed, when: "< baseline", state: Degraded, share: ratio, code: Slow,
     owner: Platform, sentence: "{value}, was {threshold}"}
  - {id: link-down, sign: link, when: == down, state: Unhealthy, code: LinkDown, owner: Platform,
     sentence: link is down}
  - {id: lost, sign: xid, when: in 79, state: Unhealthy, code: Lost, owner: Hardware,
     until: reboot, sentence: "XID {value}: lost"}
  - {id: link, sign: xid, when: in 74, state: Unhealthy, code: LinkError, owner: Hardware,
     until: reset, sentence: "XID {value}: link"}
  - {id: contained, sign: xid, when: in 94, state: Degraded, share: 0.9, code: Contained,
     owner: Hardware, until: 10m, sentence: "XID {value}: contained"}
  - {id: program, sign: xid, when: in 13, state: Healthy, code: Program, owner: Application,
     because: not the device, sentence: "XID {value}: program"}
  - {id: rest, sign: xid, when: other, state: Unhealthy, code: Rest, owner: Driver, until: reset,
     sentence: "XID {value}: unknown"}
  - {id: reset-gpu, sign: reset, when: == gpu, state: Healthy, code: Reset, owner: Platform,
     sentence: reset, clears: [reset]}
  - {id: reset-host, sign: reset, when: == host, state: Healthy, code: Reset, owner: Platform,
     sentence: reset, clears: [reboot]}
)";

const RuleTable& EngineTable() {
  static const RuleTable table = [] {
    StatusOr<RuleTable> parsed = ParseRules(kTable, "test");
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return parsed.ok() ? *parsed : RuleTable();
  }();
  return table;
}

constexpr Duration kStart = 1000h;

// Two devices, a clock, and verbs to make them show things.
class RuleEngineTest : public ::testing::Test {
 protected:
  RuleEngineTest() { engine_.SetDevices({"a", "b"}, Present()); }

  Instant Present() const { return {Time(now_), WallTime(kStart + now_)}; }
  WallTime WallAt(Duration at) const { return WallTime(kStart + at); }

  Sign Make(std::string name, std::variant<double, std::string> value,
            std::string device = "a") const {
    Sign sign;
    sign.device = std::move(device);
    sign.name = std::move(name);
    sign.value = std::move(value);
    sign.time = Present().wall;
    return sign;
  }

  std::vector<HealthChange> Show(const std::vector<Sign>& signs) {
    Evaluation evaluation = engine_.Evaluate(signs, Present());
    records_ = std::move(evaluation.records);
    return evaluation.changes;
  }
  std::vector<HealthChange> Show(std::string name, std::variant<double, std::string> value) {
    return Show({Make(std::move(name), std::move(value))});
  }
  std::vector<HealthChange> ShowError(std::string name, std::string error) {
    Sign sign = Make(std::move(name), 0.0);
    sign.error = std::move(error);
    return Show({sign});
  }
  std::vector<HealthChange> Wait(Duration duration) {
    now_ += duration;
    return Show(std::vector<Sign>());
  }
  const DeviceHealth Health(std::size_t device = 0) const { return engine_.Snapshot()[device]; }
  HealthState State(std::size_t device = 0) const { return Health(device).state; }

  Duration now_ = 0s;
  RuleEngine engine_{EngineTable(), {.driver = "gpu.example.com", .pool = "node-7"}};
  std::vector<SignRecord> records_;
};

TEST_F(RuleEngineTest, ADeviceIsUnknownUntilSomethingWasReadFromIt) {
  EXPECT_EQ(State(), HealthState::kUnknown);
  EXPECT_EQ(Health().cause.code, cause_code::kNotProbed);
  EXPECT_EQ(Health().id, (DeviceId{"gpu.example.com", "node-7", "a"}));
  now_ = 2s;
  const auto changes = Show("temperature", 41.0);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].after.state, HealthState::kHealthy);
  EXPECT_EQ(changes[0].after.since, WallAt(2s));
  EXPECT_EQ(State(1), HealthState::kUnknown) << "the other device was not read";
}

TEST_F(RuleEngineTest, AChangeIsToldOnceWithBothSides) {
  Show("link", "up");
  const auto changes = Show("link", "down");
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].before.state, HealthState::kHealthy);
  EXPECT_EQ(changes[0].after.state, HealthState::kUnhealthy);
  EXPECT_EQ(changes[0].after.cause.code, "LinkDown");
  EXPECT_EQ(changes[0].after.cause.owner, FaultOwner::kPlatform);
  EXPECT_THAT(Show("link", "down"), IsEmpty());
}

TEST_F(RuleEngineTest, ADebounceThatEndsByTimeAloneIsToldAndAnnounced) {
  Show("temperature", 41.0);
  Show("temperature", 91.0);
  EXPECT_EQ(State(), HealthState::kHealthy);
  EXPECT_EQ(engine_.NextDue(Present()), Present().now + 3s);
  EXPECT_THAT(Wait(3s), SizeIs(1));
  EXPECT_EQ(State(), HealthState::kUnhealthy);
}

TEST_F(RuleEngineTest, RecoveryCarriesTheTimeOfTheSignThatBroughtIt) {
  Show("link", "down");
  now_ = 9s;
  Show("link", "up");
  EXPECT_EQ(State(), HealthState::kHealthy);
  EXPECT_EQ(Health().since, WallAt(9s));
  EXPECT_EQ(Health().cause, Cause{});
}

TEST_F(RuleEngineTest, OfSeveralFindingsTheWorstCountsAndTheNextShowsWhenItEnds) {
  Show({Make("load", 90.0), Make("link", "up")});
  Sign narrow = Make("width", 8.0);
  narrow.expected = 16;
  Show({narrow});
  EXPECT_EQ(State(), HealthState::kDegraded);
  EXPECT_DOUBLE_EQ(Health().share, 0.5);
  now_ = 5s;
  Show("link", "down");
  EXPECT_EQ(Health().cause.code, "LinkDown");
  EXPECT_DOUBLE_EQ(Health().share, 1.0);
  Show("link", "up");
  EXPECT_EQ(Health().cause.code, "Narrow");
  EXPECT_EQ(Health().since, WallAt(0s));
}

TEST_F(RuleEngineTest, OfEqualStatesTheEarlierIsTheRootAndLessLeftOutranksMore) {
  Show("xid", 74.0);
  now_ = 1s;
  EXPECT_THAT(Show("xid", 79.0), IsEmpty()) << "what follows from the first fault is no news";
  EXPECT_EQ(Health().cause.code, "LinkError");

  Sign contained = Make("xid", 94.0, "b");
  Sign narrow = Make("width", 4.0, "b");
  narrow.expected = 16;
  Show({contained, Make("load", 90.0, "b"), narrow});
  EXPECT_EQ(Health(1).cause.code, "Narrow");
}

// A lost GPU shows a link of width 0 next: that follows from the first fault and says less.
TEST_F(RuleEngineTest, OfTwoUnhealthyFindingsTheEarlierStaysWhateverIsLeft) {
  Show("xid", 79.0);
  const std::string first = Health().cause.code;
  const WallTime since = Health().since;
  ASSERT_EQ(State(), HealthState::kUnhealthy);
  now_ = 5s;
  Sign gone = Make("width", 0.0);
  gone.expected = 16;
  Show({gone, Make("load", 90.0)});
  EXPECT_EQ(State(), HealthState::kUnhealthy);
  EXPECT_EQ(Health().cause.code, first);
  EXPECT_EQ(Health().since, since);
}

TEST_F(RuleEngineTest, AConditionMustHoldWhateverTheOrderOfTheSigns) {
  Sign narrow = Make("width", 8.0);
  narrow.expected = 16;
  Show({narrow});
  EXPECT_EQ(State(), HealthState::kHealthy) << "the condition's sign was never seen";
  Show({narrow, Make("load", 5.0)});
  EXPECT_EQ(State(), HealthState::kHealthy);
  Show({narrow, Make("load", 90.0)});
  EXPECT_EQ(State(), HealthState::kDegraded);
  Show({narrow, Make("load", 5.0)});
  EXPECT_EQ(State(), HealthState::kDegraded) << "an idle link proves nothing, either way";
}

TEST_F(RuleEngineTest, ASignThatCannotBeReadMakesTheDeviceUnknownWithTheReason) {
  Show("temperature", 41.0);
  now_ = 1s;
  const auto changes = ShowError("temperature", "I/O error");
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(State(), HealthState::kUnknown);
  EXPECT_EQ(Health().cause.code, cause_code::kSignUnreadable);
  EXPECT_EQ(Health().cause.message, "cannot read temperature: I/O error");
  EXPECT_EQ(Health().since, WallAt(1s));
  now_ = 2s;
  Show("temperature", 41.0);
  EXPECT_EQ(State(), HealthState::kHealthy);
  EXPECT_EQ(Health().since, WallAt(2s));
}

TEST_F(RuleEngineTest, AReadErrorNeverHidesAKnownFaultNorMakesOne) {
  Show("xid", 79.0);
  ShowError("temperature", "GPU is lost");
  EXPECT_EQ(Health().cause.code, "Lost");

  now_ = 1s;
  Show("link", "down");
  EXPECT_EQ(Health().cause.code, "Lost");
  Show({Make("temperature", 91.0, "b")});
  Sign unreadable = Make("temperature", 0.0, "b");
  unreadable.error = "timeout";
  Show({unreadable});
  EXPECT_THAT(Wait(10s), IsEmpty()) << "the debounce does not run on without readings";
  EXPECT_EQ(State(1), HealthState::kUnknown);
}

TEST_F(RuleEngineTest, AValueThatNoRuleCanWeighIsAReadError) {
  Show("temperature", 41.0);
  Show("temperature", "warm");
  EXPECT_EQ(State(), HealthState::kUnknown);
  EXPECT_EQ(Health().cause.message, "cannot read temperature: 'warm' is not a number");
}

TEST_F(RuleEngineTest, AProbeThatFailsAsAWholeMakesAllDevicesUnknown) {
  Show({Make("temperature", 41.0), Make("temperature", 41.0, "b")});
  EXPECT_THAT(engine_.ObserveFailed(Unavailable("library is gone"), Present()).changes, SizeIs(2));
  EXPECT_EQ(Health().cause.message, "cannot look at the device: library is gone");
  Show({Make("temperature", 41.0)});
  EXPECT_EQ(State(0), HealthState::kHealthy);
  EXPECT_EQ(State(1), HealthState::kUnknown);
}

TEST_F(RuleEngineTest, SilenceIsNotHealth) {
  Show("link", "down");
  Show({Make("temperature", 41.0, "b")});
  EXPECT_EQ(engine_.NextDue(Present()), Present().now + 30s);
  EXPECT_THAT(Wait(29999ms), IsEmpty());
  EXPECT_THAT(Wait(1ms), SizeIs(2));
  EXPECT_EQ(Health(0).cause.code, cause_code::kProbeSilent) << "a fault that is not seen either";
  EXPECT_EQ(Health(1).cause.code, cause_code::kProbeSilent);
  EXPECT_EQ(engine_.NextDue(Present()), std::nullopt);
}

TEST_F(RuleEngineTest, KeptFindingsEndByTheResetThatTheyWaitFor) {
  Show("temperature", 41.0);
  Show({Make("xid", 74.0)});
  Show("reset", "gpu");
  EXPECT_EQ(State(), HealthState::kHealthy);
  Show("xid", 79.0);
  Show("reset", "gpu");
  EXPECT_EQ(State(), HealthState::kUnhealthy) << "a lost GPU needs the machine started anew";
  now_ = 5s;
  Show("reset", "host");
  EXPECT_EQ(State(), HealthState::kHealthy);
  EXPECT_EQ(Health().since, WallAt(5s));
}

TEST_F(RuleEngineTest, AResetOlderThanTheFaultEndsNothing) {
  Sign reset = Make("reset", "gpu");
  now_ = 1s;
  Show("xid", 74.0);
  Show({reset});
  EXPECT_EQ(State(), HealthState::kUnhealthy);
}

TEST_F(RuleEngineTest, EveryEventIsRecordedAlsoOneThatChangesNothing) {
  Show("temperature", 41.0);
  EXPECT_THAT(Show("xid", 13.0), IsEmpty());
  ASSERT_THAT(records_, SizeIs(1));
  EXPECT_EQ(records_[0].rule, "program");
  EXPECT_EQ(records_[0].cause.owner, FaultOwner::kApplication);
  EXPECT_EQ(records_[0].cause.message, "XID 13: program");
  EXPECT_EQ(State(), HealthState::kHealthy);
  Show("xid", 79.0);
  EXPECT_THAT(records_, SizeIs(1));
}

TEST_F(RuleEngineTest, TheRuleForTheRestTakesOnlyWhatNoOtherTakes) {
  Show("xid", 13.0);
  EXPECT_THAT(records_, ElementsAre(::testing::Field(&SignRecord::rule, "program")));
  Show("xid", 999.0);
  EXPECT_THAT(records_, ElementsAre(::testing::Field(&SignRecord::rule, "rest")));
  Show("xid", 1e300);
  EXPECT_THAT(records_, ElementsAre(::testing::Field(&SignRecord::rule, "rest")));
}

TEST_F(RuleEngineTest, ASignOfEveryDeviceConcernsEachAndAnUnknownDeviceNone) {
  EXPECT_THAT(Show({Make("load", 1.0, "b"), Make("xid", 74.0, "*")}), SizeIs(2));
  EXPECT_THAT(Show({Make("load", 1.0, "b"), Make("xid", 79.0, "z")}), IsEmpty());
  EXPECT_THAT(Show("nonsense", 1.0), IsEmpty());
}

TEST_F(RuleEngineTest, KeptFindingsSurviveARestartWithTheirTimes) {
  now_ = 7s;
  Sign sign = Make("xid", 79.0);
  sign.raw = "kernel log: Xid 79";
  Show({sign});
  RuleEngine next(EngineTable(), {.driver = "gpu.example.com", .pool = "node-7"});
  now_ = 60s;
  next.SetDevices({"a", "b"}, Present());
  next.Restore(engine_.Save(), Present());
  const auto changes = next.Evaluate({}, Present()).changes;
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].after, Health());
  EXPECT_EQ(next.RawSign("a"), "kernel log: Xid 79");
  EXPECT_EQ(next.RawSign("b"), "");
}

TEST_F(RuleEngineTest, ADeviceThatRecoveredSaysWhichSignShowedIt) {
  Show("temperature", 41.0);
  Show("xid", 79.0);
  Sign reset = Make("reset", "host");
  reset.raw = "simulator: reset host";
  Show({reset});
  now_ += 1s;
  Show("temperature", 42.0);
  EXPECT_EQ(engine_.RawSign("a"), "simulator: reset host");
}

TEST_F(RuleEngineTest, AHotDeviceIsHotWithItsOldTimeAfterARestartUntilItIsSeenCool) {
  Show("temperature", 91.0);
  now_ = 3s;
  Show("temperature", 91.0);
  const DeviceHealth hot = Health();
  ASSERT_EQ(hot.cause.code, "Hot");
  RuleEngine next(EngineTable(), {.driver = "gpu.example.com", .pool = "node-7"});
  now_ = 60s;
  next.SetDevices({"a", "b"}, Present());
  next.Restore(engine_.Save(), Present());
  next.Evaluate({Make("temperature", 91.0)}, Present());
  EXPECT_EQ(next.Snapshot()[0], hot);
  next.Evaluate({Make("temperature", 40.0)}, Present());
  EXPECT_EQ(next.Snapshot()[0].state, HealthState::kHealthy);
}

TEST_F(RuleEngineTest, ABaselineSurvivesARestart) {
  Show("speed", 10000.0);
  RuleEngine next(EngineTable(), {.driver = "gpu.example.com", .pool = "node-7"});
  next.SetDevices({"a", "b"}, Present());
  next.Restore(engine_.Save(), Present());
  next.Evaluate({Make("speed", 1000.0)}, Present());
  EXPECT_EQ(next.Snapshot()[0].cause.message, "1000, was 10000");
}

TEST_F(RuleEngineTest, AFirstBadReadingThatWaitsOutItsDebounceIsNotHealth) {
  Show("temperature", 91.0);
  EXPECT_EQ(Health().state, HealthState::kUnknown);
  EXPECT_EQ(Health().cause.message, "its first readings look bad and are being confirmed");
  now_ = 1s;
  Show("temperature", 40.0);
  EXPECT_EQ(Health().state, HealthState::kHealthy);
  Show("temperature", 91.0);
  EXPECT_EQ(Health().state, HealthState::kHealthy) << "once healthy, a debounce is not a doubt";
}

TEST_F(RuleEngineTest, AProbeThatFailsForLongIsNotLookedAtInATightCircle) {
  Show("temperature", 40.0);
  now_ = 1s;
  engine_.ObserveFailed(Unavailable("no /sys"), Present());
  now_ = 31s;
  engine_.ObserveFailed(Unavailable("no /sys"), Present());
  EXPECT_EQ(engine_.NextDue(Present()), std::nullopt);
}

TEST_F(RuleEngineTest, WhatWasSavedForRulesOrDevicesThatAreGoneIsDropped) {
  const StatusOr<Json> saved = Json::Parse(
      R"([{"device":"a","rule":"gone","since":"2026-11-21T14:02:11Z"},
          {"device":"z","rule":"lost","since":"2026-11-21T14:02:11Z"}, 7, null])");
  ASSERT_TRUE(saved.ok());
  engine_.Restore(*saved, Present());
  EXPECT_THAT(Wait(0s), IsEmpty());
}

TEST_F(RuleEngineTest, DevicesComeAndGoAndTheRestKeepTheirState) {
  Show("xid", 79.0);
  engine_.SetDevices({"a", "c"}, Present());
  ASSERT_THAT(engine_.Snapshot(), SizeIs(2));
  EXPECT_EQ(Health(0).cause.code, "Lost");
  EXPECT_EQ(Health(1).id.device, "c");
  EXPECT_EQ(Health(1).cause.code, cause_code::kNotProbed);
}

}  // namespace
}  // namespace galen::probes
