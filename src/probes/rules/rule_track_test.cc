#include <gtest/gtest.h>

#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

Instant At(Duration since_start) { return {Time(since_start), WallTime(1000h + since_start)}; }

Sign Reading(double value, Duration at) {
  Sign sign;
  sign.device = "gpu-0";
  sign.name = "temperature";
  sign.value = value;
  sign.time = At(at).wall;
  return sign;
}

Rule HotRule() {
  Rule rule;
  rule.id = "hot";
  rule.sign = "temperature";
  rule.match = Comparison{Compare::kAbove, 85.0};
  rule.state = HealthState::kUnhealthy;
  rule.code = "TemperatureHigh";
  rule.sentence = "{value} exceeds {threshold}";
  return rule;
}

Rule EventRule(Until until) {
  Rule rule = HotRule();
  rule.match = Comparison{Compare::kNotEqual, 0.0};
  rule.until = until;
  return rule;
}

// Feeds one reading a second and gives the second in which the track first had (or had no) finding.
std::optional<int> FirstSecond(RuleTrack& track, const std::vector<double>& values, bool finding) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Duration now = std::chrono::seconds(i);
    track.OnReading(Reading(values[i], now), 100, At(now));
    if (track.finding().has_value() == finding) return static_cast<int>(i);
  }
  return std::nullopt;
}

TEST(RuleTrack, BitesAtOnceWithoutADebounceAndKeepsTheSignsTime) {
  const Rule rule = HotRule();
  RuleTrack track(rule);
  track.OnReading(Reading(91, 7s), 91, At(8s));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.finding()->since, At(7s).wall);
  EXPECT_EQ(track.finding()->cause.message, "91 exceeds 85");
  EXPECT_EQ(track.finding()->cause.value, "91");
  EXPECT_EQ(track.finding()->cause.threshold, "85");
}

TEST(RuleTrack, WaitsOutItsDebounce) {
  Rule rule = HotRule();
  rule.enter_for = 3s;
  RuleTrack track(rule);
  EXPECT_EQ(FirstSecond(track, {80, 91, 91, 91, 91, 91}, true), 4);
  EXPECT_EQ(track.finding()->since, At(4s).wall);
}

TEST(RuleTrack, ItsSignSaysForHowLongItWasWatched) {
  Rule rule = HotRule();
  rule.enter_for = 2500ms;
  RuleTrack track(rule);
  Sign sign = Reading(91, 0s);
  sign.raw = "sysfs: temperature 91 °C";
  track.OnReading(sign, 91, At(0s));
  track.Settle(At(2500ms));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.finding()->raw, "sysfs: temperature 91 °C for 2.5 s");
}

TEST(RuleTrack, ADipStartsTheDebounceAnew) {
  Rule rule = HotRule();
  rule.enter_for = 3s;
  RuleTrack track(rule);
  EXPECT_EQ(FirstSecond(track, {91, 91, 91, 80, 91, 91, 91, 91}, true), 7);
}

TEST(RuleTrack, ADebounceMayEndBetweenTwoReadings) {
  Rule rule = HotRule();
  rule.enter_for = 3s;
  RuleTrack track(rule);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  EXPECT_EQ(track.Due(), At(3s).now);
  track.Settle(At(2999ms));
  EXPECT_FALSE(track.finding());
  track.Settle(At(3s));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.finding()->since, At(3s).wall);
}

TEST(RuleTrack, CountsReadingsInARow) {
  Rule rule = HotRule();
  rule.count = 3;
  RuleTrack track(rule);
  EXPECT_EQ(FirstSecond(track, {91, 91, 80, 91, 91, 91}, true), 5);
}

TEST(RuleTrack, LetsGoOnlyBelowItsLowerThreshold) {
  Rule rule = HotRule();
  rule.leave = 82;
  RuleTrack track(rule);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  EXPECT_EQ(FirstSecond(track, {86, 84, 83, 82}, false), 3);
  EXPECT_EQ(track.ended().time, At(3s).wall);
}

TEST(RuleTrack, LetsGoOnlyAfterAQuietWhileAndARelapseStartsItAnew) {
  Rule rule = HotRule();
  rule.leave_for = 2s;
  RuleTrack track(rule);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  EXPECT_EQ(FirstSecond(track, {91, 80, 80, 91, 80, 80, 80}, false), 6);
}

TEST(RuleTrack, AQuietWhileMayEndBetweenTwoReadings) {
  Rule rule = HotRule();
  rule.leave_for = 2s;
  RuleTrack track(rule);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  track.OnReading(Reading(80, 1s), 91, At(1s));
  EXPECT_EQ(track.Due(), At(3s).now);
  track.Settle(At(3s));
  EXPECT_FALSE(track.finding());
  EXPECT_EQ(track.ended().time, At(3s).wall);
}

TEST(RuleTrack, KeepsTheValueThatBroughtItSoThatAWobbleIsNoNews) {
  const Rule rule = HotRule();
  RuleTrack track(rule);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  const Finding first = *track.finding();
  track.OnReading(Reading(93, 1s), 93, At(1s));
  EXPECT_EQ(*track.finding(), first);
}

TEST(RuleTrack, AnotherShareIsNewsWithTheTimeOfItsSign) {
  Rule rule = HotRule();
  rule.match = Comparison{Compare::kBelow, Expected{}};
  rule.state = HealthState::kDegraded;
  rule.share = ShareRatio{};
  RuleTrack track(rule);
  Sign sign = Reading(8, 0s);
  sign.expected = 16;
  track.OnReading(sign, 16, At(0s));
  ASSERT_TRUE(track.finding());
  EXPECT_DOUBLE_EQ(track.finding()->share, 0.5);
  sign.value = 4.0;
  sign.time = At(5s).wall;
  track.OnReading(sign, 16, At(5s));
  EXPECT_DOUBLE_EQ(track.finding()->share, 0.25);
  EXPECT_EQ(track.finding()->since, At(5s).wall);
  EXPECT_EQ(track.finding()->cause.value, "4");
}

// x0 of x16 was reported as Degraded with all of it left.
TEST(RuleTrack, ARatioThatLeavesNothingIsUnhealthyAndLittleIsNot) {
  Rule rule = HotRule();
  rule.match = Comparison{Compare::kBelow, Expected{}};
  rule.state = HealthState::kDegraded;
  rule.share = ShareRatio{};
  rule.sentence = "x{value} of x{expected}: {share} bandwidth";
  RuleTrack track(rule);
  Sign sign = Reading(0, 0s);
  sign.expected = 16;
  track.OnReading(sign, 16, At(0s));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.finding()->state, HealthState::kUnhealthy);
  EXPECT_EQ(track.finding()->cause.message, "x0 of x16: none of the bandwidth");
  RuleTrack restarted(rule);
  restarted.Restore(track.Save(), At(1s));
  EXPECT_EQ(restarted.finding(), track.finding());
  sign.value = 0.001;
  track.OnReading(sign, 16, At(2s));
  EXPECT_EQ(track.finding()->state, HealthState::kDegraded);
  EXPECT_GT(track.finding()->share, 0);
}

TEST(RuleTrack, WithoutAnExpectedValueNothingIsFound) {
  Rule rule = HotRule();
  rule.match = Comparison{Compare::kBelow, Expected{}};
  RuleTrack track(rule);
  track.OnReading(Reading(1, 0s), 16, At(0s));
  EXPECT_FALSE(track.finding());
}

TEST(RuleTrack, ComparesWithTheBestThatWasSeen) {
  Rule rule = HotRule();
  rule.match = Comparison{Compare::kBelow, Baseline{}};
  rule.state = HealthState::kDegraded;
  rule.share = ShareRatio{};
  RuleTrack track(rule);
  track.OnReading(Reading(10000, 0s), 100000, At(0s));
  ASSERT_TRUE(track.finding());
  EXPECT_DOUBLE_EQ(track.finding()->share, 0.1);
  EXPECT_EQ(track.finding()->cause.threshold, "100000");
}

Rule RiseRule() {
  Rule rule = HotRule();
  rule.match = Rise{10, 60s};
  return rule;
}

TEST(RuleTrack, ACounterIsJudgedByItsRiseWithinTheWindow) {
  const Rule rule = RiseRule();
  RuleTrack track(rule);
  track.OnReading(Reading(5000, 0s), 0, At(0s));
  EXPECT_FALSE(track.finding()) << "what happened before the first look is not counted";
  track.OnReading(Reading(5010, 30s), 0, At(30s));
  EXPECT_FALSE(track.finding()) << "ten are not more than ten";
  track.OnReading(Reading(5011, 60s), 0, At(60s));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.finding()->cause.value, "11");
  track.OnReading(Reading(5011, 95s), 0, At(95s));
  EXPECT_FALSE(track.finding()) << "the rise has left the window";
}

TEST(RuleTrack, ASlowRiseNeverAddsUpToAFault) {
  const Rule rule = RiseRule();
  RuleTrack track(rule);
  for (int second = 0; second < 3600; ++second) {
    const Duration now = std::chrono::seconds(second);
    track.OnReading(Reading(second / 10, now), 0, At(now));
    ASSERT_FALSE(track.finding()) << second;
  }
}

TEST(RuleTrack, ACounterThatStartsAnewIsNoRise) {
  const Rule rule = RiseRule();
  RuleTrack track(rule);
  track.OnReading(Reading(100, 0s), 0, At(0s));
  track.OnReading(Reading(0, 1s), 0, At(1s));
  track.OnReading(Reading(9, 2s), 0, At(2s));
  EXPECT_FALSE(track.finding());
  RuleTrack above(rule);
  above.OnReading(Reading(100, 0s), 0, At(0s));
  above.OnReading(Reading(108, 10s), 0, At(10s));
  above.OnReading(Reading(104, 20s), 0, At(20s));
  above.OnReading(Reading(112, 30s), 0, At(30s));
  EXPECT_FALSE(above.finding()) << "it fell, though not below where the window began";
}

TEST(RuleTrack, AnEventStaysUntilItIsEnded) {
  const Rule rule = EventRule(Until::kReset);
  RuleTrack track(rule);
  track.OnEvent(Reading(79, 0s), At(0s));
  track.Settle(At(240h));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.Due(), std::nullopt);
  track.End(At(241h).Of(At(241h).wall), "reset of the GPU");
  EXPECT_EQ(track.ended_by(), "reset of the GPU");
  EXPECT_FALSE(track.finding());
}

TEST(RuleTrack, AnEventMayEndByQuietAndEachNewOneStartsTheQuietAnew) {
  Rule rule = EventRule(Until::kFor);
  rule.quiet = 60s;
  RuleTrack track(rule);
  track.OnEvent(Reading(1, 0s), At(0s));
  track.OnEvent(Reading(1, 50s), At(50s));
  EXPECT_EQ(track.finding()->since, At(0s).wall) << "it is one fault";
  EXPECT_EQ(track.Due(), At(110s).now);
  track.Settle(At(109s));
  EXPECT_TRUE(track.finding());
  track.Settle(At(110s));
  EXPECT_FALSE(track.finding());
}

TEST(RuleTrack, AnOldEventThatIsReadLateEndsAtItsOwnTime) {
  Rule rule = EventRule(Until::kFor);
  rule.quiet = 60s;
  RuleTrack track(rule);
  track.OnEvent(Reading(1, 0s), At(3600s));
  EXPECT_FALSE(track.finding());
}

TEST(RuleTrack, CountsEventsWithinTheirWindowByTheirOwnTimes) {
  Rule rule = EventRule(Until::kReset);
  rule.count = 3;
  rule.window = 60s;
  RuleTrack track(rule);
  for (const Duration time : {0s, 50s, 61s}) track.OnEvent(Reading(1, time), At(500s));
  EXPECT_FALSE(track.finding());
  track.OnEvent(Reading(1, 70s), At(500s));
  ASSERT_TRUE(track.finding());
  EXPECT_EQ(track.finding()->since, At(70s).wall);
}

TEST(RuleTrack, AWallClockThatIsSetNeitherEndsAQuietTimeNorPutsItOff) {
  for (const Duration step : {-3600s, 3600s}) {
    Rule rule = EventRule(Until::kFor);
    rule.quiet = 60s;
    RuleTrack track(rule);
    track.OnEvent(Reading(1, 0s), At(0s));
    track.Settle({At(59s).now, At(59s).wall + step});
    EXPECT_TRUE(track.finding()) << step.count();
    track.Settle({At(60s).now, At(60s).wall + step});
    EXPECT_FALSE(track.finding()) << step.count();
    EXPECT_EQ(track.ended().time, At(60s).wall + (step < 0s ? step : Duration(0s)));
  }
}

TEST(RuleTrack, AWallClockThatIsSetNeitherOpensNorClosesAWindowOfEvents) {
  for (const Duration step : {-3600s, 3600s}) {
    Rule rule = EventRule(Until::kReset);
    rule.count = 2;
    rule.window = 60s;
    RuleTrack track(rule);
    const auto event = [&](Duration at, Duration by) {
      track.OnEvent(Reading(1, at + by), {At(at).now, At(at).wall + by});
    };
    event(0s, 0s);
    event(61s, step);
    EXPECT_FALSE(track.finding()) << "61 s apart, set by " << step.count();
    event(100s, 2 * step);
    EXPECT_TRUE(track.finding()) << "39 s apart, set by " << step.count();
  }
}

TEST(RuleTrack, AReadingThatIsLostTakesItsFindingWithItButNotAKeptOne) {
  const Rule clears = HotRule();
  RuleTrack track(clears);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  track.OnUnreadable();
  EXPECT_FALSE(track.finding());

  Rule keeps = HotRule();
  keeps.until = Until::kReset;
  RuleTrack kept(keeps);
  kept.OnReading(Reading(91, 0s), 91, At(0s));
  kept.OnUnreadable();
  EXPECT_TRUE(kept.finding());
}

TEST(RuleTrack, AKeptFindingAndHalfACountSurviveARestart) {
  Rule rule = EventRule(Until::kReset);
  RuleTrack before(rule);
  Sign sign = Reading(79, 5s);
  sign.raw = "kernel log: Xid 79";
  before.OnEvent(sign, At(5s));
  RuleTrack after(rule);
  after.Restore(before.Save(), At(100s));
  EXPECT_EQ(after.finding(), before.finding());

  rule.count = 2;
  rule.window = 60s;
  RuleTrack half(rule);
  half.OnEvent(Reading(79, 0s), At(0s));
  RuleTrack whole(rule);
  whole.Restore(half.Save(), At(20s));
  EXPECT_FALSE(whole.finding());
  whole.OnEvent(Reading(79, 30s), At(30s));
  EXPECT_TRUE(whole.finding());
}

TEST(RuleTrack, AReadingsFindingSurvivesARestartAndEndsWhenItIsGoodAgain) {
  const Rule rule = HotRule();
  RuleTrack before(rule);
  before.OnReading(Reading(91, 0s), 91, At(0s));
  ASSERT_TRUE(before.finding());
  RuleTrack after(rule);
  after.Restore(before.Save(), At(100s));
  EXPECT_EQ(after.finding(), before.finding());
  after.OnReading(Reading(90, 101s), 91, At(101s));
  EXPECT_EQ(after.finding(), before.finding()) << "the same fault, so the same sentence and time";
  after.OnReading(Reading(40, 102s), 91, At(102s));
  after.Settle(At(200s));
  EXPECT_FALSE(after.finding());
}

TEST(RuleTrack, WithoutAFindingThereIsNothingToSave) {
  const Rule rule = HotRule();
  RuleTrack track(rule);
  track.OnReading(Reading(40, 0s), 40, At(0s));
  EXPECT_TRUE(track.Save().is_null());
}

TEST(RuleTrack, AGapBreaksTheQuietThatWouldEndAFinding) {
  Rule rule = HotRule();
  rule.leave_for = 10s;
  RuleTrack track(rule);
  track.OnReading(Reading(91, 0s), 91, At(0s));
  track.OnReading(Reading(40, 5s), 40, At(5s));
  track.OnUnreadable();
  track.OnReading(Reading(91, 7s), 91, At(7s));
  track.Settle(At(16s));
  EXPECT_TRUE(track.finding()) << "it is hot again";
}

}  // namespace
}  // namespace galen::probes
