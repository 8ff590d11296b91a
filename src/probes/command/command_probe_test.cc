#include "probes/command/command_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"
#include "probes/command/fake_command_runner.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using How = CommandEnd::How;

constexpr std::string_view kCommandRules = R"(
signs:
- {name: present, kind: reading}
- {name: fan, kind: reading, command: [/opt/fan.sh, "-d", "{device}@{pci}"], every: 10s}
rules:
- {id: fan, sign: fan, when: == 1, state: Unhealthy, code: FanFault, owner: Hardware,
   sentence: "Fan check: {detail}"}
)";

class CommandSink final : public SignSink {
 public:
  void OnSigns(std::vector<Sign> signs) override {
    for (Sign& sign : signs) all.push_back(std::move(sign));
  }
  std::vector<Sign> all;
};

class CommandProbeTest : public ::testing::Test {
 protected:
  CommandProbeTest() {
    probe_.Start(sink_);
    SetDevices(1);
  }
  void SetDevices(int count) {
    std::vector<CheckedDevice> devices;
    for (int i = 0; i < count; ++i) {
      devices.push_back({"d" + std::to_string(i),
                         {{"device", "d" + std::to_string(i)}, {"pci", "0000:4b:00.0"}}});
    }
    probe_.SetDevices(devices);
  }
  std::vector<Sign> LookAfter(Duration time) {
    loop_.Advance(time);
    return *probe_.Observe();
  }
  void End(std::size_t run, int code, const std::string& output) {
    runner_.End(run, {.number = code, .output = output});
  }
  // What the engine makes of the device after these signs, and that it is there.
  DeviceHealth HealthAfter(std::vector<Sign> signs) {
    signs.push_back({.device = "d0", .name = "present", .value = 1.0});
    engine_.SetDevices({"d0"}, {loop_.Now(), loop_.WallNow()});
    engine_.Evaluate(signs, {loop_.Now(), loop_.WallNow()});
    return engine_.Snapshot().front();
  }

  FakeLoop loop_;
  Metrics metrics_;
  const RuleTable rules_ = *ParseRules(kCommandRules, "r");
  FakeCommandRunner runner_;
  CommandSink sink_;
  CommandProbe probe_{{loop_, NullLog(), metrics_, rules_, runner_}};
  RuleEngine engine_{rules_, {.awaits_checks = true}};
};

TEST_F(CommandProbeTest, RunsTheCommandWithWhatTheDeviceIsKnownBy) {
  EXPECT_THAT(LookAfter(0s), IsEmpty());
  ASSERT_THAT(runner_.requests, SizeIs(1));
  EXPECT_THAT(runner_.requests[0].command, ElementsAre("/opt/fan.sh", "-d", "d0@0000:4b:00.0"));
  EXPECT_EQ(runner_.requests[0].timeout, 5s);
  EXPECT_EQ(runner_.requests[0].cpu, 2s);
}

TEST_F(CommandProbeTest, AProblemIsAFindingWithTheCommandsLine) {
  LookAfter(0s);
  End(0, 1, "fan 2 stands\n");
  const DeviceHealth health = HealthAfter(sink_.all);
  EXPECT_EQ(health.state, HealthState::kUnhealthy);
  EXPECT_EQ(health.cause.message, "Fan check: fan 2 stands");
  LookAfter(10s);
  End(1, 0, "");
  EXPECT_EQ(HealthAfter(LookAfter(0s)).state, HealthState::kHealthy);
}

TEST_F(CommandProbeTest, ADeviceIsUnknownUntilItsCommandRan) {
  const DeviceHealth health = HealthAfter(LookAfter(0s));
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_EQ(health.cause.message, "nothing is known of fan of this device yet");
}

TEST_F(CommandProbeTest, WhatIsNotKnownEndsAsUnknownAndNotAsBad) {
  LookAfter(0s);
  runner_.End(0, {.how = How::kTimedOut});
  const DeviceHealth health = HealthAfter(sink_.all);
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_EQ(health.cause.message,
            "cannot read fan: /opt/fan.sh had not ended after 5 s and was killed");
}

TEST_F(CommandProbeTest, BetweenTwoRunsTheLastOneHolds) {
  LookAfter(0s);
  End(0, 1, "fan 2 stands\n");
  const std::vector<Sign> signs = LookAfter(9s);
  EXPECT_THAT(runner_.requests, SizeIs(1));
  ASSERT_THAT(signs, SizeIs(1));
  EXPECT_EQ(signs[0].detail, "fan 2 stands");
  LookAfter(1s);
  EXPECT_THAT(runner_.requests, SizeIs(2));
}

TEST_F(CommandProbeTest, ACommandThatTimesOutRunsMoreSeldom) {
  LookAfter(0s);
  loop_.Advance(5s);
  runner_.End(0, {.how = How::kTimedOut});
  LookAfter(14s);
  EXPECT_THAT(runner_.requests, SizeIs(1));
  LookAfter(1s);
  EXPECT_THAT(runner_.requests, SizeIs(2));
}

TEST_F(CommandProbeTest, ACommandThatCannotBeKilledIsUnknownAndNotRunAgain) {
  LookAfter(0s);
  EXPECT_THAT(LookAfter(5s), IsEmpty());
  const std::vector<Sign> signs = LookAfter(1s);
  ASSERT_THAT(signs, SizeIs(1));
  EXPECT_THAT(signs[0].error, HasSubstr("was killed after 5 s and has not gone"));
  LookAfter(1h);
  EXPECT_THAT(runner_.requests, SizeIs(1));
  EXPECT_THAT(metrics_.Text(), HasSubstr("galen_checks_hanging 1"));
}

TEST_F(CommandProbeTest, FewRunOfAllChecksAtATime) {
  const RuleTable rules = *ParseRules(R"(
signs:
- {name: a, kind: reading, command: [/a]}
- {name: b, kind: reading, command: [/b]}
- {name: c, kind: reading, command: [/c]}
rules:
- {id: a, sign: a, when: == 1, state: Unhealthy, code: A, owner: Hardware, sentence: a}
)",
                                      "r");
  Metrics metrics;
  CommandProbe probe({loop_, NullLog(), metrics, rules, runner_});
  probe.SetDevices({{"d0", {}}, {"d1", {}}, {"d2", {}}, {"d3", {}}});
  static_cast<void>(probe.Observe());
  EXPECT_THAT(runner_.requests, SizeIs(8));
  End(0, 0, "");
  EXPECT_THAT(runner_.requests, SizeIs(9));
}

TEST_F(CommandProbeTest, OneProblemIsNotConfirmedByShowingItAgain) {
  LookAfter(0s);
  End(0, 1, "fan 2 stands\n");
  ASSERT_THAT(sink_.all, SizeIs(1));
  EXPECT_EQ(sink_.all[0].look, Sign::Look::kSeldom);
  EXPECT_EQ(LookAfter(1s)[0].look, Sign::Look::kAgain);
}

TEST_F(CommandProbeTest, FewRunOfOneCheckAtATimeAndOneThatHangsForEverTakesNoPlace) {
  SetDevices(10);
  LookAfter(0s);
  EXPECT_THAT(runner_.requests, SizeIs(4));
  End(0, 0, "");
  EXPECT_THAT(runner_.requests, SizeIs(5));
  LookAfter(6s);
  EXPECT_THAT(runner_.requests, SizeIs(9));
}

TEST_F(CommandProbeTest, ARunOfADeviceThatLeftIsDropped) {
  LookAfter(0s);
  probe_.SetDevices({});
  End(0, 1, "fan 2 stands\n");
  EXPECT_THAT(sink_.all, IsEmpty());
}

TEST_F(CommandProbeTest, ADeviceWithoutWhatAPlaceholderAsksForIsUnknown) {
  probe_.SetDevices({{"d0", {{"device", "d0"}}}});
  const std::vector<Sign> signs = LookAfter(0s);
  ASSERT_THAT(signs, SizeIs(1));
  EXPECT_EQ(signs[0].error, "the device has no {pci}");
  EXPECT_THAT(runner_.requests, IsEmpty());
}

TEST_F(CommandProbeTest, CountsRunsByTheirResult) {
  LookAfter(0s);
  loop_.Advance(1s);
  runner_.End(0, {.number = 1, .cpu = 250ms});
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("galen_check_runs_total{check=\"fan\",result=\"problem\"} 1"));
  EXPECT_THAT(text, HasSubstr("galen_check_seconds_total{check=\"fan\"} 1"));
  EXPECT_THAT(text, HasSubstr("galen_check_cpu_seconds_total{check=\"fan\"} 0.25"));
}

TEST_F(CommandProbeTest, ReportsHowEachCheckStandsAndWhatItCost) {
  using State = CommandReport::State;
  EXPECT_EQ(probe_.Reports().at(0).state, State::kWaiting);
  LookAfter(0s);
  CommandReport report = probe_.Reports().at(0);
  EXPECT_EQ(report.check, "fan");
  EXPECT_EQ(report.device, "d0");
  EXPECT_EQ(report.state, State::kRunning);
  EXPECT_EQ(report.result, "");
  EXPECT_EQ(report.last_run, std::nullopt);
  EXPECT_EQ(report.every, 10s);
  loop_.Advance(1s);
  runner_.End(0, {.number = 1, .output = "fan 3 stands still", .cpu = 2s});
  report = probe_.Reports().at(0);
  EXPECT_EQ(report.state, State::kWaiting);
  EXPECT_EQ(report.result, "problem");
  EXPECT_EQ(report.says, "fan 3 stands still");
  EXPECT_EQ(report.last_run, loop_.WallNow());
  EXPECT_EQ(report.took, 1s);
  EXPECT_EQ(report.cpu, 2s);
  EXPECT_EQ(report.interval, 20s) << "a fifth of a processor is too much";
  LookAfter(20s);
  runner_.End(1, {.how = How::kTimedOut, .cpu = 3s});
  report = probe_.Reports().at(0);
  EXPECT_EQ(report.result, "unknown");
  EXPECT_EQ(report.runs, 2u);
  EXPECT_EQ(report.cpu_of_all, 5s);
}

TEST_F(CommandProbeTest, ReportsWhatHangsAndWhatCannotRun) {
  using State = CommandReport::State;
  LookAfter(0s);
  LookAfter(60s);
  EXPECT_EQ(probe_.Reports().at(0).state, State::kHanging);
  EXPECT_EQ(probe_.Reports().at(0).result, "unknown");
  probe_.SetDevices({{"d0", {{"device", "d0"}}}});
  EXPECT_EQ(probe_.Reports().at(0).state, State::kOff);
  EXPECT_EQ(probe_.Reports().at(0).says, "the device has no {pci}");
}

}  // namespace
}  // namespace galen::probes
