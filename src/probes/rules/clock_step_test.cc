// What a wall clock that is set does to findings: nothing.
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kStepRules = R"(
signs:
  - {name: heat, kind: reading}
  - {name: xid, kind: event}
  - {name: reset, kind: event}
rules:
  - {id: hot, sign: heat, when: "> 90", state: Unhealthy, code: Hot, owner: Hardware,
     sentence: hot, enter_for: 1m, leave_for: 1m}
  - {id: contained, sign: xid, when: == 94, state: Unhealthy, code: Contained, owner: Hardware,
     sentence: contained, until: 10m}
  - {id: link, sign: xid, when: == 74, state: Unhealthy, code: Link, owner: Hardware,
     sentence: link, until: reset}
  - {id: reset-gpu, sign: reset, when: == gpu, state: Healthy, code: Reset, owner: Platform,
     sentence: reset, clears: [reset]}
)";

class ClockStepTest : public ::testing::Test {
 protected:
  ClockStepTest() {
    engine_.SetDevices({"a"}, Present());
    Show("heat", 40.0);
  }

  Instant Present() const { return {Time(now_), WallTime(1000h + now_ + step_)}; }
  // `age` is how long ago it happened.
  std::vector<HealthChange> Show(std::string name, std::variant<double, std::string> value,
                                 Duration age = 0s) {
    const Sign sign{.device = "a",
                    .name = std::move(name),
                    .value = std::move(value),
                    .time = Present().wall - age};
    return engine_.Evaluate({sign}, Present()).changes;
  }
  // Minutes pass, in each of which the device is read.
  void Pass(Duration time) {
    for (const Duration end = now_ + time; now_ < end;) {
      now_ += 20s;
      Show("heat", 40.0);
    }
  }
  DeviceHealth Health() const { return engine_.Snapshot()[0]; }

  const RuleTable table_ = ParseRules(kStepRules, "test").value();
  RuleEngine engine_{table_, {}};
  Duration now_ = 10h, step_ = 0s;
};

TEST_F(ClockStepTest, AfterAStepBackEachEventPutsTheEndOfAQuietTimeOff) {
  Show("xid", 94.0);
  const WallTime since = Health().since;
  step_ = -1h;
  for (int minute = 0; minute < 30; ++minute) {
    Pass(1min);
    EXPECT_TRUE(Show("xid", 94.0).empty()) << "it is one fault, minute " << minute;
    ASSERT_EQ(Health().cause.code, "Contained");
  }
  EXPECT_EQ(Health().since, since);
  const WallTime last = Present().wall;
  Pass(9min);
  EXPECT_EQ(Health().state, HealthState::kUnhealthy);
  Pass(1min);
  EXPECT_EQ(Health().state, HealthState::kHealthy);
  EXPECT_EQ(Health().since, last + 10min) << "by the clock as it is now";
}

TEST_F(ClockStepTest, NothingIsFoundOrEndedLaterThanNowWhenTheClockIsSetBackMeanwhile) {
  const auto minute = [this](double heat) {
    for (int look = 0; look < 3; ++look) {
      now_ += 20s;
      Show("heat", heat);
    }
  };
  Show("heat", 95.0);
  step_ = -1h;
  minute(95.0);
  ASSERT_EQ(Health().cause.code, "Hot") << "the debounce ran on";
  EXPECT_EQ(Health().since, Present().wall) << "it was found now";
  Show("heat", 40.0);
  step_ = -2h;
  minute(40.0);
  ASSERT_EQ(Health().state, HealthState::kHealthy);
  EXPECT_EQ(Health().since, Present().wall);
}

TEST_F(ClockStepTest, AQuietTimeThatIsOverEndsNowWhenTheClockIsSetBackMeanwhile) {
  Show("xid", 94.0);
  step_ = -1h;
  Pass(11min);
  ASSERT_EQ(Health().state, HealthState::kHealthy);
  EXPECT_LE(Health().since, Present().wall);
}

TEST_F(ClockStepTest, AFindingFromBeforeIsNotShownAsOneOfTheFuture) {
  Show("xid", 74.0);
  const Json saved = engine_.Save();
  step_ = -1h;
  RuleEngine next(table_, {});
  next.SetDevices({"a"}, Present());
  next.Restore(saved, Present());
  next.Evaluate({{.device = "a", .name = "heat", .value = 40.0, .time = Present().wall}},
                Present());
  ASSERT_EQ(next.Snapshot()[0].cause.code, "Link");
  EXPECT_EQ(next.Snapshot()[0].since, Present().wall);
}

TEST_F(ClockStepTest, AfterAStepBackAResetEndsWhatWaitsForOne) {
  Show("xid", 74.0);
  step_ = -1h;
  Pass(1min);
  Show("reset", "gpu");
  EXPECT_EQ(Health().state, HealthState::kHealthy);
  EXPECT_EQ(Health().since, Present().wall);
}

TEST_F(ClockStepTest, AResetFromBeforeTheFaultEndsNothingHoweverTheClockWasSet) {
  for (const Duration step : {-1h, 1h}) {
    Show("xid", 74.0);
    step_ = step;
    Pass(1min);
    Show("reset", "gpu", 61s);
    EXPECT_EQ(Health().state, HealthState::kUnhealthy) << step.count();
    Show("reset", "gpu", 60s);
    EXPECT_EQ(Health().state, HealthState::kHealthy) << step.count();
    step_ = 0s;
  }
}

TEST_F(ClockStepTest, AnEventAfterTheFirstKeepsAFindingFromAResetBetweenThem) {
  Show("xid", 74.0);
  step_ = -1h;
  Pass(2min);
  Show("xid", 74.0);
  Show("reset", "gpu", 1min);
  EXPECT_EQ(Health().state, HealthState::kUnhealthy) << "it failed anew before it was seen back";
  Show("reset", "gpu");
  EXPECT_EQ(Health().state, HealthState::kHealthy);
}

TEST_F(ClockStepTest, AFindingOfAProcessBeforeEndsByAResetOfThisOneAndByNoneFromBefore) {
  Show("xid", 74.0);
  step_ = -1h;
  now_ += 5min;
  RuleEngine next(table_, {});
  next.SetDevices({"a"}, Present());
  next.Restore(engine_.Save(), Present());
  const auto reset = [&](Duration age) {
    const Sign sign{.device = "a", .name = "reset", .value = "gpu", .time = Present().wall - age};
    next.Evaluate({sign}, Present());
    return next.Findings("a").empty();
  };
  EXPECT_FALSE(reset(6min));
  now_ += 1min;
  EXPECT_TRUE(reset(0s));
}

TEST_F(ClockStepTest, ADeviceIsHealthySinceItBecameSoNotSinceAnEndByTheFormerClock) {
  Show("xid", 74.0);
  Pass(1min);
  Show("reset", "gpu");
  step_ = -1h;
  for (int second = 0; second < 2; ++second) {
    now_ += 1min;
    Show("heat", 95.0);
  }
  ASSERT_EQ(Health().cause.code, "Hot");
  now_ += 1min;
  Show("heat", 40.0);
  Pass(2min);
  EXPECT_EQ(Health().state, HealthState::kHealthy);
  EXPECT_EQ(Health().since, Present().wall - 1min);
}

TEST_F(ClockStepTest, OfTwoFaultsTheFirstIsShownThoughItsTimeIsLater) {
  Show("xid", 94.0);
  step_ = -1h;
  Pass(1min);
  EXPECT_TRUE(Show("xid", 74.0).empty());
  EXPECT_EQ(Health().cause.code, "Contained");
}

}  // namespace
}  // namespace galen::probes
