// SetTable, and whose hardware was saved; Save and Restore are tested by rule_engine_test.cc too.
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kKeptSigns = R"(
signs:
  - {name: temperature, kind: reading}
  - {name: width, kind: reading}
  - {name: errors, kind: counter}
  - {name: xid, kind: event}
  - {name: reset, kind: event}
rules:
  - {id: reset-gpu, sign: reset, when: == gpu, state: Healthy, code: Reset, owner: Platform,
     sentence: reset, clears: [reset]}
)";
constexpr std::string_view kHot =
    "  - {id: hot, sign: temperature, when: '> 85', state: Unhealthy, code: Hot, owner: Hardware,\n"
    "     sentence: 'hot: {value}', enter_for: 3s}\n";
constexpr std::string_view kHotter =
    "  - {id: hot, sign: temperature, when: '> 95', state: Unhealthy, code: Hot, owner: Hardware,\n"
    "     sentence: 'hotter: {value}', enter_for: 3s}\n";
constexpr std::string_view kRising =
    "  - {id: rising, sign: errors, when: rises > 5 in 60s, state: Degraded, share: 1, code: "
    "Often,\n"
    "     owner: Hardware, sentence: '{value} errors'}\n";
constexpr std::string_view kLost =
    "  - {id: lost, sign: xid, when: in 79, state: Unhealthy, code: Lost, owner: Hardware,\n"
    "     until: reset, sentence: lost}\n";
constexpr std::string_view kLostInOtherWords =
    "  - {id: lost, sign: xid, when: 'in 79, 119', state: Unhealthy, code: Lost, owner: Hardware,\n"
    "     until: reset, sentence: gone}\n";

RuleTable TableOf(std::initializer_list<std::string_view> rules) {
  std::string text(kKeptSigns);
  for (const std::string_view rule : rules) text += rule;
  StatusOr<RuleTable> table = ParseRules(text, "test");
  EXPECT_TRUE(table.ok()) << table.status().message();
  return table.ok() ? *table : RuleTable();
}

class SetTableTest : public ::testing::Test {
 protected:
  SetTableTest() { engine_.SetDevices({"a"}, At()); }
  Instant At() const { return {Time(now_), WallTime(now_)}; }
  void Show(std::string name, std::variant<double, std::string> value) {
    engine_.Evaluate(
        {{.device = "a", .name = std::move(name), .value = std::move(value), .time = At().wall}},
        At());
  }
  Evaluation Read(const RuleTable& table) { return engine_.SetTable(table, At()); }
  DeviceHealth Health() const { return engine_.Snapshot()[0]; }

  // In another order each: places in the table are not what a rule is known by.
  const RuleTable first_ = TableOf({kHot, kRising, kLost});
  const RuleTable same_ = TableOf({kLost, kRising, kHot});
  const RuleTable other_ = TableOf({kLostInOtherWords, kHotter});
  Duration now_ = 100h;
  RuleEngine engine_{first_, {}};
};

TEST_F(SetTableTest, ARuleThatDidNotChangeGoesOnWithItsDebounceAndItsSamples) {
  Show("temperature", 90.0);
  Show("errors", 100.0);
  now_ += 2s;
  EXPECT_TRUE(Read(same_).changes.empty());
  now_ += 1s;
  Show("temperature", 90.0);
  EXPECT_EQ(Health().cause.message, "hot: 90");
  Show("temperature", 40.0);
  Show("errors", 110.0);
  EXPECT_EQ(Health().cause.message, "10 errors");
}

TEST_F(SetTableTest, AFindingThatStandsStaysAndKeepsItsTime) {
  Show("temperature", 40.0);
  Show("xid", 79.0);
  const WallTime since = Health().since;
  now_ += 10s;
  EXPECT_TRUE(Read(same_).changes.empty());
  EXPECT_EQ(Health().state, HealthState::kUnhealthy);
  EXPECT_EQ(Health().since, since);
  Show("reset", "gpu");
  EXPECT_EQ(Health().state, HealthState::kHealthy);
}

TEST_F(SetTableTest, ALostDeviceStaysLostWhenItsRuleIsWordedAnew) {
  Show("temperature", 40.0);
  Show("xid", 79.0);
  Read(other_);
  EXPECT_EQ(Health().cause.message, "lost") << "as of its time";
  Show("reset", "gpu");
  Show("xid", 119.0);
  EXPECT_EQ(Health().cause.message, "gone");
}

TEST_F(SetTableTest, ARuleThatChangedJudgesByItsNewThreshold) {
  Show("temperature", 90.0);
  now_ += 3s;
  Show("temperature", 90.0);
  EXPECT_EQ(Health().state, HealthState::kUnhealthy);
  Read(other_);
  Show("temperature", 90.0);
  EXPECT_EQ(Health().state, HealthState::kHealthy);
}

TEST_F(SetTableTest, ARuleThatAsksForFewerEventsCountsTheNewest) {
  RuleTable four = TableOf({kLost});
  four.rules.back().count = 4;
  four.rules.back().window = 60s;
  RuleTable two = four;
  two.rules.back().count = 2;
  Read(four);
  for (const Duration wait : {0s, 5s, 53s, 42s}) {
    now_ += wait;
    Show("temperature", 40.0);
    EXPECT_EQ(Health().state, HealthState::kHealthy);
    if (wait == 42s) Read(two);
    Show("xid", 79.0);
  }
  EXPECT_EQ(Health().state, HealthState::kUnhealthy);
}

TEST_F(SetTableTest, ACheckThatIsGoneIsAwaitedNoMore) {
  RuleTable checked = first_;
  checked.signs.push_back({.name = "fan", .command = CommandSource{.command = {"/opt/fan"}}});
  RuleEngine engine(checked, {.awaits_checks = true});
  engine.SetDevices({"a"}, At());
  engine.Evaluate({{.device = "a", .name = "temperature", .value = 40.0, .time = At().wall}}, At());
  EXPECT_EQ(engine.Snapshot()[0].state, HealthState::kUnknown);
  engine.SetTable(first_, At());
  EXPECT_EQ(engine.Snapshot()[0].state, HealthState::kHealthy);
}

TEST_F(SetTableTest, WhatARuleFoundThatIsGoneIsOver) {
  Show("temperature", 40.0);
  Show("xid", 79.0);
  now_ += 5s;
  const RuleTable none = TableOf({});
  const Evaluation evaluation = Read(none);
  ASSERT_EQ(evaluation.changes.size(), 1u);
  EXPECT_EQ(Health().state, HealthState::kHealthy);
  EXPECT_EQ(Health().since, At().wall);
}

// What of a lost device a process finds whose device of that name is `now`.
class SavedHardwareTest : public SetTableTest {
 protected:
  HealthState StateIn(const std::string& before, const std::string& now) {
    RuleEngine first(first_, {}), next(first_, {});
    first.SetDevices({"a"}, At());
    first.SetHardware({{"a", before}});
    first.Evaluate({{.device = "a", .name = "xid", .value = 79.0, .time = At().wall}}, At());
    next.SetDevices({"a"}, At());
    next.SetHardware({{"a", now}});
    next.Restore(first.Save(), At());
    next.Evaluate({}, At());
    return next.Snapshot()[0].state;
  }
};

TEST_F(SavedHardwareTest, WhatWasSavedOfOtherHardwareIsDropped) {
  EXPECT_EQ(StateIn("uuid=MIG-1", "uuid=MIG-1"), HealthState::kUnhealthy);
  EXPECT_EQ(StateIn("uuid=MIG-1", "uuid=MIG-2"), HealthState::kUnknown);
  EXPECT_EQ(StateIn("serial=1", "serial=2"), HealthState::kUnknown);
}

TEST_F(SavedHardwareTest, WhatDoesNotContradictIsTaken) {
  EXPECT_EQ(StateIn("", "uuid=MIG-2"), HealthState::kUnhealthy) << "of an earlier version";
  EXPECT_EQ(StateIn("uuid=MIG-1", ""), HealthState::kUnhealthy);
  EXPECT_EQ(StateIn("serial=1", "uuid=MIG-2"), HealthState::kUnhealthy);
}

TEST_F(SavedHardwareTest, ABestValueIsItsHardwaresOwn) {
  EXPECT_TRUE(MeanDifferentHardware("mac=02:01", "mac=02:02"));
  EXPECT_FALSE(MeanDifferentHardware("", ""));
  RuleTable falls = first_;
  falls.rules.push_back({.id = "falls", .sign = "width"});
  falls.rules.back().match = Comparison{Compare::kBelow, Baseline{}};
  RuleEngine first(falls, {}), next(falls, {});
  first.SetDevices({"a"}, At());
  first.SetHardware({{"a", "mac=02:01"}});
  first.Evaluate({{.device = "a", .name = "width", .value = 16.0, .time = At().wall}}, At());
  EXPECT_EQ(first.Save().items().at(0)["best"].AsDouble(), 16);
  EXPECT_EQ(first.Save().items().at(0)["hardware"].AsString(), "mac=02:01");
  next.SetDevices({"a"}, At());
  next.SetHardware({{"a", "mac=02:02"}});
  next.Restore(first.Save(), At());
  EXPECT_TRUE(next.Save().items().empty());
}

}  // namespace
}  // namespace galen::probes
