#include "agent/post_mortem/recent_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/health/health_cache.h"
#include "base/files/fake_file_system.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr WallTime kEnd(std::chrono::seconds(1'795'269'734));
const DeviceId kRecentGpu{"gpu.example.com", "node-7", "gpu-3"};

DeviceHealth Health(HealthState state, Duration since) {
  DeviceHealth health;
  health.id = kRecentGpu;
  health.state = state;
  health.since = kEnd + since;
  return health;
}

std::vector<std::string> Of(const RecentFindings& findings, const DeviceHealth& present) {
  std::vector<std::string> said;
  for (const auto& finding : findings.Of(present, kEnd - 5min, kEnd + 5min)) {
    said.emplace_back(ToString(finding.health.state));
  }
  return said;
}

constexpr HealthState kRecentWell = HealthState::kHealthy;
constexpr HealthState kBad = HealthState::kUnhealthy;

TEST(RecentFindings, ADeviceThatDidNotChangeIsAsItIs) {
  EXPECT_THAT(Of(RecentFindings(), Health(kRecentWell, -1h)), ElementsAre("Healthy"));
}

TEST(RecentFindings, AFirstReportThatADeviceIsWellIsNoNews) {
  RecentFindings findings;
  findings.Add({NotReportedHealth(kRecentGpu), Health(kRecentWell, -4min)}, kEnd - 4min);
  EXPECT_EQ(findings.size(), 0u);
  EXPECT_THAT(Of(findings, Health(kRecentWell, -4min)), ElementsAre("Healthy"));
  findings.Add({Health(kRecentWell, -4min), Health(kBad, -3s)}, kEnd - 3s);
  EXPECT_THAT(Of(findings, Health(kBad, -3s)), ElementsAre("Healthy", "Unhealthy"));
}

TEST(RecentFindings, ADeviceOfWhichNobodySpokeUntilLaterIsUnknown) {
  EXPECT_THAT(Of(RecentFindings(), Health(kRecentWell, 6min)), ElementsAre("Unknown"));
}

TEST(RecentFindings, WhatAnEndedPodHadIsUnknownWhereAllThatIsKnownBeganLater) {
  const WallTime now = kEnd + 1h;
  EXPECT_EQ(RecentFindings().AtEnd(Health(kBad, 6min), kEnd, now).state, HealthState::kUnknown);
  EXPECT_EQ(RecentFindings().AtEnd(Health(kBad, -6min), kEnd, now).state, kBad);
  RecentFindings flapped;
  DeviceHealth before = Health(kRecentWell, -1h);
  for (int i = 1; i <= 2 * static_cast<int>(RecentFindings::kPerDeviceMax); ++i) {
    const DeviceHealth after = Health(i % 2 == 0 ? kRecentWell : kBad, i * 1min);
    flapped.Add({before, after}, after.since);
    before = after;
  }
  EXPECT_EQ(flapped.AtEnd(before, kEnd, now).state, HealthState::kUnknown);
}

TEST(RecentFindings, BeginWithWhatWasInForceAndEndWithTheWindow) {
  RecentFindings findings;
  findings.Add({Health(kRecentWell, -9h), Health(kBad, -1h)}, kEnd - 1h);
  findings.Add({Health(kBad, -1h), Health(kRecentWell, -10min)}, kEnd - 10min);
  findings.Add({Health(kRecentWell, -10min), Health(kBad, -3s)}, kEnd - 3s);
  findings.Add({Health(kBad, -3s), Health(kRecentWell, 20min)}, kEnd + 20min);
  EXPECT_THAT(Of(findings, Health(kRecentWell, 20min)), ElementsAre("Healthy", "Unhealthy"));
}

TEST(RecentFindings, ASignOfTheWindowCountsHoweverLateItIsHeard) {
  RecentFindings findings;
  findings.Add({Health(kRecentWell, -9h), Health(kBad, 1min)}, kEnd + 40min);
  EXPECT_THAT(Of(findings, Health(kBad, 1min)), ElementsAre("Healthy", "Unhealthy"));
}

TEST(RecentFindings, WhatIsKnownOnlyFromLaterShowsNothingButTheTimeBefore) {
  RecentFindings findings;
  findings.Add({Health(kRecentWell, -9h), Health(kBad, 1h)}, kEnd + 1h);
  EXPECT_THAT(Of(findings, Health(kBad, 1h)), ElementsAre("Healthy"));
}

TEST(RecentFindings, AreBoundedWhateverFlaps) {
  RecentFindings findings;
  for (int i = 0; i < 1000; ++i) {
    findings.Add({Health(kRecentWell, 0s), Health(kBad, i * 1ms)}, kEnd + i * 1ms);
  }
  EXPECT_LE(findings.Of(Health(kBad, 1s), kEnd - 5min, kEnd + 5min).size(),
            RecentFindings::kPerDeviceMax + 1);
}

TEST(RecentFindings, AreBoundedHoweverManyDevicesAreHeardOf) {
  RecentFindings findings;
  DeviceHealth last;
  for (int i = 0; i < 100'000; ++i) {
    DeviceHealth well = Health(kRecentWell, -9h), bad = Health(kBad, i * 1us);
    well.id.device = bad.id.device = "mig-" + std::to_string(i);
    findings.Add({well, bad}, kEnd + i * 1us);
    last = bad;
  }
  EXPECT_LE(findings.size(), RecentFindings::kFindingsMax);
  EXPECT_THAT(Of(findings, last), ElementsAre("Healthy", "Unhealthy")) << "the newest is there";
}

TEST(RecentFindings, AreThereAgainAfterARestart) {
  FakeFileSystem files;
  const auto store = history::Store::Open(files, {.directory = "/journal"}).value();
  RecentFindings nothing;
  EXPECT_EQ(nothing.Restore(*store), WallTime{});
  store->Append({.time = kEnd - 3s,
                 .kind = history::Kind::kChange,
                 .device = kRecentGpu,
                 .change = HealthChange{Health(kRecentWell, -9h), Health(kBad, -3s)}});
  store->Append({.time = kEnd, .kind = history::Kind::kNote, .text = "later"});
  RecentFindings findings;
  EXPECT_EQ(findings.Restore(*store), kEnd);
  EXPECT_THAT(Of(findings, Health(kBad, -3s)), ElementsAre("Healthy", "Unhealthy"));
  findings.Forget(kRecentGpu);
  EXPECT_THAT(Of(findings, Health(kBad, -3s)), ElementsAre("Unhealthy"));
}

}  // namespace
}  // namespace galen::agent
