#include "agent/health/health_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kCachedDriver = "gpu.example.com";
constexpr WallTime kMorning = WallTime(1'795'269'600s);

DeviceId CachedGpu(int i) { return {kCachedDriver, "node-1", "gpu-" + std::to_string(i)}; }

DeviceHealth Healthy(int i) { return {.id = CachedGpu(i), .state = HealthState::kHealthy}; }

DeviceHealth Unhealthy(int i, const std::string& code = "XidGpuLost") {
  return {.id = CachedGpu(i), .state = HealthState::kUnhealthy, .cause = {.code = code}};
}

DecodedReport Report(std::vector<DeviceHealth> devices) {
  return {.report = {.driver = kCachedDriver, .devices = std::move(devices)}};
}

// A cache with a clock whose hands move together.
struct CacheAt {
  explicit CacheAt(std::vector<TimeoutRule> rules = {}) : cache(std::move(rules)) {
    cache.SetConnected(kCachedDriver, true);
  }
  std::vector<HealthChange> Apply(std::vector<DeviceHealth> devices) {
    return cache.Apply(Report(std::move(devices)), now, wall());
  }
  std::vector<HealthChange> Expire() { return cache.Expire(now, wall()); }
  const DeviceHealth& Health(int i) { return cache.Find(CachedGpu(i))->health; }
  WallTime wall() const { return kMorning + (now - Time{}); }

  HealthCache cache;
  Time now{};
};

TEST(HealthCache, ReportsTheFirstHealthOfADevice) {
  CacheAt at;
  const std::vector<HealthChange> changes = at.Apply({Healthy(0)});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].before.state, HealthState::kUnknown);
  EXPECT_EQ(changes[0].before.cause.code, cause_code::kNotReported);
  EXPECT_EQ(changes[0].after.state, HealthState::kHealthy);
  EXPECT_EQ(changes[0].after.since, kMorning);
}

TEST(HealthCache, ReturnsNothingWhenAReportRepeats) {
  CacheAt at;
  at.Apply({Unhealthy(0)});
  at.now += 5s;
  EXPECT_THAT(at.Apply({Unhealthy(0)}), IsEmpty());
  EXPECT_EQ(at.Health(0).since, kMorning) << "it did not begin anew";
}

TEST(HealthCache, DeviceGoesUnknownWhenItsDeadlinePasses) {
  CacheAt at;
  at.Apply({Healthy(0)});
  at.now += 30s - 1ns;
  EXPECT_THAT(at.Expire(), IsEmpty());
  EXPECT_EQ(at.cache.NextDeadline(), Time{} + 30s);
  at.now += 1ns;
  const std::vector<HealthChange> changes = at.Expire();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].after.state, HealthState::kUnknown);
  EXPECT_EQ(changes[0].after.cause.code, cause_code::kDriverSilent);
  EXPECT_EQ(changes[0].after.cause.message, "no report for 30 s, the default limit");
  EXPECT_EQ(at.cache.NextDeadline(), std::nullopt) << "it goes Unknown once";
  EXPECT_THAT(at.Expire(), IsEmpty());
}

TEST(HealthCache, AReportMovesTheDeadline) {
  CacheAt at;
  at.Apply({Healthy(0)});
  at.now += 20s;
  at.Apply({Healthy(0)});
  at.now += 20s;
  EXPECT_THAT(at.Expire(), IsEmpty());
  EXPECT_EQ(at.Health(0).state, HealthState::kHealthy);
}

TEST(HealthCache, ADeviceLeftOutKeepsItsHealthUntilItsOwnDeadline) {
  CacheAt at;
  at.Apply({Healthy(0), Unhealthy(1)});
  at.now += 20s;
  EXPECT_THAT(at.Apply({Healthy(0)}), IsEmpty());
  EXPECT_EQ(at.Health(1).state, HealthState::kUnhealthy);
  at.now += 10s;
  EXPECT_THAT(at.Expire(), SizeIs(1));
  EXPECT_EQ(at.Health(1).state, HealthState::kUnknown);
  EXPECT_EQ(at.Health(0).state, HealthState::kHealthy);
}

TEST(HealthCache, TheSameReportAfterASilenceIsNews) {
  CacheAt at;
  at.Apply({Healthy(0)});
  at.now += 60s;
  at.Expire();
  at.now += 60s;
  const std::vector<HealthChange> changes = at.Apply({Healthy(0)});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].before.state, HealthState::kUnknown);
  EXPECT_EQ(changes[0].after.state, HealthState::kHealthy);
  EXPECT_EQ(changes[0].after.since, kMorning + 120s) << "that it was well meanwhile is not known";
}

TEST(HealthCache, AFaultThatOnlyPausedKeepsItsFirstTime) {
  CacheAt at;
  at.Apply({Unhealthy(0)});
  at.now += 60s;
  at.Expire();
  at.now += 60s;
  EXPECT_EQ(at.Apply({Unhealthy(0)}).at(0).after.since, kMorning);
}

TEST(HealthCache, ASecondSilenceDoesNotForgetTheFaultBeforeTheFirst) {
  CacheAt at;
  at.Apply({Unhealthy(0)});
  at.now += 60s;
  at.Expire();
  at.cache.Drop(kCachedDriver, {.code = std::string(cause_code::kDriverGone)}, at.wall());
  EXPECT_EQ(at.Apply({Unhealthy(0)}).at(0).after.since, kMorning) << "silent, and then gone";
  at.now += 60s;
  at.Expire();
  EXPECT_EQ(at.Apply({Unhealthy(0)}).at(0).after.since, kMorning) << "silent once more";
  at.Apply({Healthy(0)});
  at.now += 60s;
  at.Expire();
  EXPECT_EQ(at.Apply({Unhealthy(0)}).at(0).after.since, at.wall()) << "it was well in between";
}

TEST(HealthCache, AnotherFaultAfterASilenceHasItsOwnTime) {
  CacheAt at;
  at.Apply({Unhealthy(0, "XidGpuLost")});
  at.now += 60s;
  at.Expire();
  EXPECT_EQ(at.Apply({Unhealthy(0, "EccUncorrectable")}).at(0).after.since, kMorning + 60s);
}

TEST(HealthCache, TheTimeOfTheSignCounts) {
  CacheAt at;
  at.now += 60s;
  DeviceHealth health = Unhealthy(0);
  health.since = kMorning + 10s;
  EXPECT_EQ(at.Apply({health}).at(0).after.since, kMorning + 10s);
}

TEST(HealthCache, ASentenceThatMovesIsAChangeOfAnOldFault) {
  CacheAt at;
  DeviceHealth hot = Unhealthy(0, "TemperatureHigh");
  hot.cause.message = "91 °C";
  at.Apply({hot});
  at.now += 5s;
  hot.cause.message = "92 °C";
  const std::vector<HealthChange> changes = at.Apply({hot});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].after.cause.message, "92 °C");
  EXPECT_EQ(changes[0].after.since, kMorning);
}

TEST(HealthCache, ADriverThatIsGoneTakesAllItsDevicesAlong) {
  CacheAt at;
  at.Apply({Healthy(0), Unhealthy(1)});
  at.cache.Apply({.report = {.driver = "nic.example.com",
                             .devices = {{.id = {"nic.example.com", "node-1", "nic-0"},
                                          .state = HealthState::kHealthy}}}},
                 at.now, at.wall());
  const Cause gone{.code = std::string(cause_code::kDriverGone)};
  EXPECT_THAT(at.cache.Drop(kCachedDriver, gone, at.wall()), SizeIs(2));
  EXPECT_EQ(at.Health(1).cause.code, cause_code::kDriverGone);
  EXPECT_EQ(at.cache.Find({"nic.example.com", "node-1", "nic-0"})->health.state,
            HealthState::kHealthy);
  EXPECT_THAT(at.cache.Drop(kCachedDriver, gone, at.wall()), IsEmpty()) << "reported once";
  EXPECT_THAT(at.Apply({Healthy(0)}), SizeIs(1));
}

TEST(HealthCache, ARestoredDeviceHoldsUntilItsDeadlineAndNotifiesNobody) {
  CacheAt at;
  at.now += 1000s;
  DeviceHealth stored = Unhealthy(0);
  stored.since = kMorning - 1h;
  stored.timeout = 10s;
  at.cache.Restore(stored, at.now, false);
  EXPECT_THAT(at.Apply({Unhealthy(0)}), IsEmpty()) << "the driver repeats what is known";
  EXPECT_EQ(at.Health(0).since, kMorning - 1h);
  at.now += 30s;
  EXPECT_THAT(at.Expire(), SizeIs(1));
}

TEST(HealthCache, AFaultThatPausedOverARestartKeepsItsFirstTime) {
  CacheAt at;
  DeviceHealth gone = NotReportedHealth(CachedGpu(0)), lost = Unhealthy(0);
  gone.since = kMorning - 1min;
  lost.since = kMorning - 1h;
  at.cache.Restore(gone, at.now, false);
  at.cache.RestoreBeforeSilence(lost);
  EXPECT_EQ(at.Apply({Unhealthy(0)}).at(0).after.since, kMorning - 1h);
  at.Apply({Healthy(0)});
  at.now += 5s;
  EXPECT_EQ(at.Apply({Unhealthy(0)}).at(0).after.since, at.wall()) << "it was well in between";
}

TEST(HealthCache, AfterALossTheDriverKnowsBetterSinceWhenADeviceIsAsItIs) {
  CacheAt at;
  DeviceHealth stored = Healthy(0);
  stored.since = kMorning - 1h;
  at.cache.Restore(stored, at.now, true);
  DeviceHealth reported = Healthy(0);
  reported.since = kMorning - 1min;
  DecodedReport of_ours = Report({reported});
  of_ours.facts[CachedGpu(0)] = {};
  const std::vector<HealthChange> changes = at.cache.Apply(of_ours, at.now, at.wall());
  ASSERT_THAT(changes, SizeIs(1)) << "it was not well all the time";
  EXPECT_EQ(changes[0].before.state, HealthState::kUnknown);
  EXPECT_EQ(changes[0].before.cause.code, cause_code::kHistoryLost);
  EXPECT_EQ(at.Health(0).since, kMorning - 1min);
  reported.since = kMorning;
  EXPECT_THAT(at.Apply({reported}), IsEmpty()) << "from the first report on nothing is doubtful";
}

TEST(HealthCache, AfterALossWhatTheDriverSaysWithoutALaterTimeIsNoNews) {
  CacheAt at;
  DeviceHealth stored = Healthy(0);
  stored.since = kMorning - 1h;
  at.cache.Restore(stored, at.now, true);
  EXPECT_THAT(at.Apply({stored}), IsEmpty());
  EXPECT_EQ(at.Health(0).since, kMorning - 1h);
}

// Theirs is the time at which they last looked.
TEST(HealthCache, AfterALossTheTimesOfOthersDriversProveNothing) {
  CacheAt at;
  DeviceHealth stored = Healthy(0);
  stored.since = kMorning - 1h;
  at.cache.Restore(stored, at.now, true);
  stored.since = kMorning - 12s;
  EXPECT_THAT(at.Apply({stored}), IsEmpty());
  EXPECT_EQ(at.Health(0).since, kMorning - 1h);
}

TEST(HealthCache, ARestoredDeviceWhoseDriverNeverCameBackIsCalledGone) {
  HealthCache cache({});
  DeviceHealth stored = Unhealthy(0);
  stored.timeout = 10s;
  cache.Restore(stored, Time{}, false);
  EXPECT_EQ(cache.NextDeadline(), Time{} + 10s);
  EXPECT_EQ(cache.Expire(Time{} + 10s, kMorning).at(0).after.cause.code, cause_code::kDriverGone);
}

TEST(HealthCache, TheOperatorsTimeoutOverrulesTheDriversAndSaysSo) {
  CacheAt at({{.device = "gpu-0", .timeout = 5s}});
  DeviceHealth health = Healthy(0);
  health.timeout = 60s;
  at.Apply({health});
  EXPECT_EQ(at.cache.Find(CachedGpu(0))->timeout,
            (EffectiveTimeout{5s, TimeoutSource::kConfig, "device gpu-0"}));
  at.now += 5s;
  EXPECT_EQ(at.Expire().at(0).after.cause.message, "no report for 5 s, the configured limit");
}

TEST(HealthCache, MakesRoomByForgettingWhoIsSilentForLongest) {
  CacheAt at;
  std::vector<DeviceHealth> devices;
  for (std::size_t i = 0; i < HealthCache::kDevicesMax; ++i) {
    devices.push_back(Healthy(static_cast<int>(i)));
  }
  at.Apply(devices);
  EXPECT_THAT(at.Apply({Healthy(9000)}), IsEmpty()) << "nobody is silent, nobody makes room";
  EXPECT_EQ(at.cache.left_out(), 1u);
  EXPECT_TRUE(at.cache.LeavesOut(kCachedDriver));
  at.now += 60s;
  at.Expire();
  EXPECT_THAT(at.Apply({Healthy(9000)}), SizeIs(1));
  EXPECT_FALSE(at.cache.LeavesOut(kCachedDriver));
  EXPECT_THAT(at.cache.TakeEvicted(), SizeIs(1));
  EXPECT_EQ(at.cache.entries().size(), HealthCache::kDevicesMax);
}

// One report may have thousands of devices that find none.
TEST(HealthCache, LooksForASilentDeviceOnlyWhereThereMayBeOne) {
  CacheAt at;
  constexpr int kMost = static_cast<int>(HealthCache::kDevicesMax);
  std::vector<DeviceHealth> devices;
  for (int i = 0; i < 2 * kMost; ++i) devices.push_back(Healthy(i));
  at.Apply(devices);
  EXPECT_EQ(at.cache.left_out(), HealthCache::kDevicesMax);
  EXPECT_EQ(at.cache.searched(), 0U) << "all of them were reported just now";
  at.now += 60s;
  while (!at.Expire().empty()) continue;
  at.Apply({devices.begin(), devices.begin() + kMost});
  for (int i = 0; i < 10; ++i) at.Apply({Healthy(9000 + i)});
  EXPECT_EQ(at.cache.searched(), HealthCache::kDevicesMax) << "once, for nothing";
}

TEST(HealthCache, ADriverWithManyDevicesMakesRoomForOneWithFew) {
  CacheAt at;
  std::vector<DeviceHealth> many;
  for (int i = 0; i < 6'000; ++i) many.push_back(Healthy(i));
  at.Apply(many);
  const DeviceId nic{"nic.example.com", "node-1", "eth-0"};
  const DecodedReport few{
      .report = {.driver = nic.driver, .devices = {{.id = nic, .state = HealthState::kHealthy}}}};
  const std::vector<HealthChange> changes = at.cache.Apply(few, at.now, at.wall());
  ASSERT_NE(at.cache.Find(nic), nullptr);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[1].after.id.driver, kCachedDriver);
  EXPECT_EQ(changes[1].after.state, HealthState::kUnknown) << "never bad";
  EXPECT_EQ(changes[1].after.cause, LeftOutCause());
  EXPECT_EQ(at.cache.entries().size(), HealthCache::kDevicesMax);
  at.Apply(many);
  EXPECT_NE(at.cache.Find(nic), nullptr) << "and keeps it";
}

TEST(HealthCache, ManyDevicesBecomeUnknownAFewAtATime) {
  CacheAt at;
  std::vector<DeviceHealth> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(Healthy(i));
  at.Apply(many);
  const Cause gone{.code = std::string(cause_code::kDriverGone)};
  std::size_t changes = at.cache.Drop(kCachedDriver, gone, at.wall()).size();
  EXPECT_EQ(changes, HealthCache::kSilencedAtOnceMax);
  while (at.cache.NextDeadline()) {
    for (const HealthChange& change : at.Expire()) {
      EXPECT_EQ(change.after.cause.code, cause_code::kDriverGone);
      ++changes;
    }
  }
  EXPECT_EQ(changes, 1'000u);
}

}  // namespace
}  // namespace galen::agent
