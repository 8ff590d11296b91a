#include "agent/health/health_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/health/fake_change_log.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kKeptDriver = "gpu.example.com";
DeviceId KeptGpu(int i) { return {kKeptDriver, "node-1", "gpu-" + std::to_string(i)}; }

class HealthKeeperTest : public ::testing::Test {
 protected:
  HealthKeeperTest()
      : log_(
            LogLevel::kWarning, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {
    metric::Declare(metrics_);
    keeper_.emplace(HealthKeeper::Edges{loop_, log_, metrics_, journal_},
                    std::vector<TimeoutRule>{}, [this](const std::vector<HealthChange>& changes) {
                      journal_.entries.push_back("acted");
                      most_at_once_ = std::max(most_at_once_, changes.size());
                      changes_.insert(changes_.end(), changes.begin(), changes.end());
                    });
    keeper_->OnDriverConnected(kKeptDriver);
  }

  void Report(std::vector<std::pair<int, HealthState>> devices) {
    DecodedReport report;
    report.report.driver = kKeptDriver;
    for (const auto& [i, state] : devices) {
      report.report.devices.push_back({.id = KeptGpu(i), .state = state});
    }
    keeper_->OnReport(report, loop_.Now());
  }

  // Its driver is gone since a minute, and said an hour ago that it is broken.
  void RestoreBrokenAndThenSilent() {
    journal_.devices = {{.id = KeptGpu(0),
                         .cause = {.code = std::string(cause_code::kDriverGone)},
                         .since = loop_.WallNow() - 1min}};
    journal_.before_silence = {
        {.id = KeptGpu(0), .state = HealthState::kUnhealthy, .since = loop_.WallNow() - 1h}};
    keeper_->Restore();
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_;
  Metrics metrics_;
  FakeChangeLog journal_;
  std::vector<HealthChange> changes_;
  std::size_t most_at_once_ = 0;
  std::optional<HealthKeeper> keeper_;
};

TEST_F(HealthKeeperTest, AChangeIsWrittenDownBeforeAnyoneActsOnIt) {
  Report({{0, HealthState::kHealthy}});
  loop_.RunUntilIdle();
  EXPECT_THAT(journal_.Take(), ElementsAre("changed gpu-0", "synced", "kept 1", "acted"));
}

TEST_F(HealthKeeperTest, ChangesOfOneTurnAreWrittenTogether) {
  Report({{0, HealthState::kHealthy}, {1, HealthState::kHealthy}});
  Report({{0, HealthState::kUnhealthy}});
  loop_.RunUntilIdle();
  EXPECT_EQ(journal_.syncs, 1);
  EXPECT_THAT(changes_, SizeIs(3));
}

TEST_F(HealthKeeperTest, ManyChangesArePublishedAFewAtATime) {
  std::vector<std::pair<int, HealthState>> devices;
  for (int i = 0; i < 1'000; ++i) devices.emplace_back(i, HealthState::kHealthy);
  Report(devices);
  EXPECT_FALSE(keeper_->HasRoom());
  loop_.RunUntilIdle();
  EXPECT_TRUE(keeper_->HasRoom());
  EXPECT_THAT(changes_, SizeIs(1'000));
  EXPECT_LE(most_at_once_, HealthKeeper::kPublishedAtOnceMax);
}

TEST_F(HealthKeeperTest, AReportThatRepeatsWritesNothing) {
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(5s);
  journal_.Take();
  for (int i = 0; i < 10; ++i) {
    Report({{0, HealthState::kHealthy}});
    loop_.Advance(5s);
  }
  EXPECT_THAT(journal_.Take(), IsEmpty());
}

TEST_F(HealthKeeperTest, WhoKeepsSomethingOfADeviceHearsThatItIsForgotten) {
  std::vector<std::string> forgotten;
  keeper_->OnForgotten([&](const DeviceId& id) { forgotten.push_back(id.device); });
  Report({{0, HealthState::kHealthy}});
  keeper_->Forget(KeptGpu(0), "it left");
  keeper_->Forget(KeptGpu(0), "it left");
  EXPECT_THAT(forgotten, ElementsAre("gpu-0"));
}

TEST_F(HealthKeeperTest, ASilentDriverIsNoticedAtTheDeadlineWithoutAnyReport) {
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(30s - 1ns);
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).state, HealthState::kHealthy);
  loop_.Advance(1ns);
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).state, HealthState::kUnknown);
  EXPECT_EQ(changes_.back().after.cause.code, cause_code::kDriverSilent);
}

TEST_F(HealthKeeperTest, EachDeviceHasItsOwnDeadline) {
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(10s);
  Report({{1, HealthState::kHealthy}});
  loop_.Advance(20s);
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).state, HealthState::kUnknown);
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(1)).state, HealthState::kHealthy);
  loop_.Advance(10s);
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(1)).state, HealthState::kUnknown);
}

TEST_F(HealthKeeperTest, ADiskThatFailsDelaysNobodyAndIsLoggedOnce) {
  journal_.fault = ResourceExhausted("no space left on device");
  Report({{0, HealthState::kHealthy}});
  loop_.RunUntilIdle();
  Report({{0, HealthState::kUnhealthy}});
  loop_.RunUntilIdle();
  EXPECT_THAT(changes_, SizeIs(2));
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_EQ(keeper_->trouble(), "no space left on device");
  EXPECT_GE(metrics_.Value("galen_journal_errors_total"), 2);
  journal_.fault = OkStatus();
  loop_.Advance(HealthKeeper::kSyncAgain + HealthKeeper::kSyncLater);
  EXPECT_EQ(keeper_->trouble(), "") << "tried again without a new change";
}

TEST_F(HealthKeeperTest, AChangeIsNotShownBeforeTheJournalHasIt) {
  Report({{0, HealthState::kHealthy}});
  loop_.RunUntilIdle();
  Report({{0, HealthState::kUnhealthy}});
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).state, HealthState::kHealthy);
  EXPECT_FALSE(keeper_->idle());
  loop_.RunUntilIdle();
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).state, HealthState::kUnhealthy);
  EXPECT_TRUE(keeper_->idle());
}

TEST_F(HealthKeeperTest, ADiskThatIsSlowDelaysAChangeUntilItIsKept) {
  journal_.hangs = true;
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(HealthKeeper::kDiskPatience - 1ns);
  EXPECT_THAT(changes_, IsEmpty());
  // The second is not in the write that is under way.
  Report({{0, HealthState::kUnhealthy}, {1, HealthState::kDegraded}});
  loop_.RunUntilIdle();
  journal_.Answer();
  EXPECT_THAT(changes_, SizeIs(3));
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).state, HealthState::kUnhealthy);
  EXPECT_EQ(metrics_.Value("galen_published_before_kept_total"), 0);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(HealthKeeperTest, ADiskThatHangsDelaysNobodyForLongerThanThePatience) {
  journal_.hangs = true;
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(HealthKeeper::kDiskPatience);
  EXPECT_THAT(changes_, SizeIs(1));
  EXPECT_THAT(keeper_->trouble(), testing::HasSubstr("the disk takes longer than 250 ms"));
  // It is known to hang: what follows does not wait once more, nor ask it again.
  const int syncs = journal_.syncs;
  for (int i = 0; i < 1000; ++i) {
    Report({{0, i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy}});
    loop_.RunUntilIdle();
  }
  EXPECT_THAT(changes_, SizeIs(1001));
  EXPECT_EQ(journal_.syncs, syncs);
  EXPECT_EQ(metrics_.Value("galen_published_before_kept_total"), 1001);
  EXPECT_THAT(lines_, SizeIs(1)) << "logged once";
  EXPECT_TRUE(keeper_->idle());
}

TEST_F(HealthKeeperTest, WhatWasPublishedBeforeItWasKeptIsMarkedSoWhenTheDiskGoesOn) {
  journal_.hangs = true;
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(HealthKeeper::kDiskPatience);
  Report({{0, HealthState::kUnhealthy}});
  loop_.RunUntilIdle();
  journal_.Take();
  journal_.Answer();
  EXPECT_THAT(journal_.Take(), ElementsAre("synced", "synced", "kept late 2"));
  EXPECT_EQ(keeper_->trouble(), "");
  Report({{0, HealthState::kHealthy}});
  loop_.RunUntilIdle();
  EXPECT_THAT(journal_.Take(), ElementsAre("changed gpu-0", "synced", "kept 1", "acted"));
}

TEST_F(HealthKeeperTest, WhatWasPublishedWhileTheDiskFailedIsMarkedSoOnceItIsKept) {
  journal_.fault = ResourceExhausted("no space left on device");
  Report({{0, HealthState::kHealthy}});
  loop_.RunUntilIdle();
  EXPECT_EQ(metrics_.Value("galen_published_before_kept_total"), 1);
  journal_.fault = OkStatus();
  journal_.Take();
  loop_.Advance(HealthKeeper::kSyncAgain + HealthKeeper::kSyncLater);
  EXPECT_THAT(journal_.Take(), testing::Contains("kept late 1"));
}

TEST_F(HealthKeeperTest, OfWhatIsPublishedDuringALongHangTheNewestAreMarked) {
  journal_.hangs = true;
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(HealthKeeper::kDiskPatience);
  for (std::size_t i = 0; i <= HealthKeeper::kLateMax; ++i) {
    Report({{0, i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy}});
    loop_.RunUntilIdle();
  }
  journal_.Answer();
  EXPECT_THAT(journal_.Take(), testing::Contains("kept late 4096"));
}

TEST_F(HealthKeeperTest, WhatWasKnownIsTakenOverWithoutNotifyingAnyone) {
  journal_.devices = {
      {.id = KeptGpu(0), .state = HealthState::kUnhealthy, .since = loop_.WallNow() - 1h}};
  keeper_->Restore();
  loop_.RunUntilIdle();
  EXPECT_THAT(changes_, IsEmpty());
  EXPECT_EQ(keeper_->HealthOf(KeptGpu(0)).since, loop_.WallNow() - 1h);
  loop_.Advance(30s);
  EXPECT_THAT(changes_, SizeIs(1));
}

TEST_F(HealthKeeperTest, AFaultBeforeASilenceThatARestartFellIntoKeepsItsTime) {
  RestoreBrokenAndThenSilent();
  Report({{0, HealthState::kUnhealthy}});
  EXPECT_EQ(keeper_->cache().Find(KeptGpu(0))->health.since, loop_.WallNow() - 1h);
}

TEST_F(HealthKeeperTest, WhereTheJournalHasGapsAFaultBeforeASilenceMayHaveEndedSince) {
  journal_.gaps = true;
  RestoreBrokenAndThenSilent();
  Report({{0, HealthState::kUnhealthy}});
  EXPECT_EQ(keeper_->cache().Find(KeptGpu(0))->health.since, loop_.WallNow());
}

TEST_F(HealthKeeperTest, ADriverThatIsGoneIsReportedAtOnce) {
  Report({{0, HealthState::kHealthy}});
  loop_.RunUntilIdle();
  keeper_->OnDriverSilent(kKeptDriver,
                          {.code = std::string(cause_code::kDriverGone), .message = "gone"});
  loop_.RunUntilIdle();
  EXPECT_EQ(changes_.back().after.cause.message, "gone");
}

TEST_F(HealthKeeperTest, DriversThatGoTogetherBecomeUnknownAFewDevicesAtATime) {
  const std::vector<std::string> drivers = {"a.example.com", "b.example.com", "c.example.com"};
  for (const std::string& driver : drivers) {
    DecodedReport report;
    report.report.driver = driver;
    for (int i = 0; i < 200; ++i) {
      report.report.devices.push_back(
          {.id = {driver, "pool", std::to_string(i)}, .state = HealthState::kHealthy});
    }
    keeper_->OnReport(report, loop_.Now());
  }
  loop_.RunUntilIdle();
  const std::uint64_t before = keeper_->changes();
  for (const std::string& driver : drivers) {
    keeper_->OnDriverSilent(driver,
                            {.code = std::string(cause_code::kDriverGone), .message = driver});
  }
  EXPECT_LE(keeper_->changes() - before, HealthCache::kSilencedAtOnceMax);
  loop_.RunUntilIdle();
  EXPECT_EQ(keeper_->changes() - before, 600u);
  for (const std::string& driver : drivers) {
    EXPECT_EQ(keeper_->HealthOf({driver, "pool", "199"}).cause.message, driver);
  }
}

TEST_F(HealthKeeperTest, ADriverThatHangsAfterItsStreamWasReopenedIsSilentAndNotGone) {
  Report({{0, HealthState::kHealthy}});
  keeper_->OnDriverSilent(kKeptDriver,
                          {.code = std::string(cause_code::kDriverGone), .message = "gone"});
  Report({{0, HealthState::kHealthy}});
  loop_.Advance(30s);
  EXPECT_EQ(changes_.back().after.cause.code, cause_code::kDriverSilent);
}

TEST_F(HealthKeeperTest, ADeviceThatLeftIsForgottenEverywhere) {
  Report({{0, HealthState::kHealthy}, {1, HealthState::kHealthy}});
  loop_.Advance(30s);
  journal_.Take();
  keeper_->Forget(KeptGpu(0), "its driver does not list it any more");
  EXPECT_EQ(keeper_->cache().Find(KeptGpu(0)), nullptr);
  EXPECT_THAT(journal_.Take(), ElementsAre("forgot gpu-0"));
  EXPECT_THAT(metrics_.Text(), ::testing::Not(::testing::HasSubstr("device=\"gpu-0\"")));
  EXPECT_THAT(metrics_.Text(), ::testing::HasSubstr("device=\"gpu-1\""));
}

TEST_F(HealthKeeperTest, OneSeriesADeviceShowsItsState) {
  Report({{0, HealthState::kHealthy}});
  Report({{0, HealthState::kUnhealthy}});
  const auto value = [&](std::string_view state) {
    return metrics_.Value(
        "galen_device_state",
        {{"driver", kKeptDriver}, {"pool", "node-1"}, {"device", "gpu-0"}, {"state", state}});
  };
  EXPECT_EQ(value("Healthy"), 0);
  EXPECT_EQ(value("Unhealthy"), 1);
}

TEST_F(HealthKeeperTest, WritesDownWhenADriverIsLostAndWhenItIsBack) {
  journal_.drivers.clear();
  keeper_->OnDriverSilent(kKeptDriver,
                          {.code = std::string(cause_code::kDriverGone), .message = "hung up"});
  Report({{0, HealthState::kHealthy}});
  Report({{0, HealthState::kHealthy}});
  EXPECT_THAT(journal_.drivers, ElementsAre("-" + kKeptDriver + ": hung up", "+" + kKeptDriver));
}

TEST_F(HealthKeeperTest, SleepsWhenNobodyIsThere) {
  loop_.Advance(HealthKeeper::kSyncLater);
  EXPECT_EQ(loop_.waiting(), 0u);
}

}  // namespace
}  // namespace galen::agent
