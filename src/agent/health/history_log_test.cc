#include "agent/health/history_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "history/journal/test_synced.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr WallTime kSign = WallTime(1'795'269'600s);
const DeviceId kLoggedGpu{"gpu.example.com", "node-1", "gpu-3"};
const PodRef kLoggedPod{{"train", "trainer-0"}, "uid-1"};

HealthChange Lost() {
  return {.before = {.id = kLoggedGpu, .state = HealthState::kHealthy},
          .after = {.id = kLoggedGpu,
                    .state = HealthState::kUnhealthy,
                    .cause = {.code = "XidGpuLost", .message = "XID 79"},
                    .since = kSign}};
}

HealthChange Recovered(WallTime when) {
  return {.before = Lost().after,
          .after = {.id = kLoggedGpu, .state = HealthState::kHealthy, .since = when}};
}

class HistoryLogTest : public ::testing::Test {
 protected:
  HistoryLogTest() { Open(); }
  void Open() {
    store_ = history::Store::Open(files_, {.directory = "/journal"}).value();
    log_.emplace(*store_);
  }
  std::vector<std::string> Line() {
    std::vector<std::string> line;
    for (const Step& step : log_->StepsOf(kLoggedPod, {})) {
      line.push_back(step.kind + ": " + step.text + " (" + step.source + ")");
    }
    return line;
  }

  // As a disk that gives back other bytes than it took.
  void BreakJournal() {
    const std::vector<std::string> names = files_.List("/journal").value();
    for (const std::string& name : names) {
      const std::string path = "/journal/" + name;
      std::string bytes = files_.Read(path).value();
      bytes.back() ^= 1;
      ASSERT_TRUE(files_.WriteAtomically(path, bytes, 0600).ok());
    }
  }

  FakeFileSystem files_;
  std::unique_ptr<history::Store> store_;
  std::optional<HistoryLog> log_;
};

TEST_F(HistoryLogTest, GivesTheLineOfCausesOfAPodInTheOrderOfTime) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79 on 0000:4b:00.0"}, 812, kSign + 1ms);
  log_->Kept({Lost()}, OnDisk::kBeforePublished, kSign + 2ms);
  log_->Published(kLoggedPod, Lost().after, {7ms}, kSign + 7ms);
  log_->Crashed({kLoggedPod, "container train, exit 134", kSign + 3s}, {kLoggedGpu});
  EXPECT_THAT(Line(),
              ElementsAre("sign: kernel log: Xid 79 on 0000:4b:00.0 (gpu.example.com)",
                          "change: Healthy → Unhealthy, XidGpuLost (gpu.example.com, report 812)",
                          "kept: journal (galen-agent)",
                          "published: Pod status and annotation (7 ms after sign) (galen-agent)",
                          "crash: container train, exit 134 (container runtime)"));
}

TEST_F(HistoryLogTest, SaysOfAProgramsFaultThatTheDeviceStaysHealthy) {
  HealthChange noted{.before = {.id = kLoggedGpu, .state = HealthState::kHealthy},
                     .after = {.id = kLoggedGpu, .state = HealthState::kHealthy, .since = kSign}};
  noted.after.cause = {.code = "XidPageFault", .owner = FaultOwner::kApplication};
  log_->Changed(noted, {.sign = "kernel log: Xid 31"}, 5, kSign);
  log_->Changed({.before = noted.after, .after = noted.before}, {}, 6, kSign + 1min);
  log_->Crashed({kLoggedPod, "container train, exit 1", kSign + 1s}, {kLoggedGpu});
  EXPECT_THAT(Line(), ElementsAre("sign: kernel log: Xid 31 (gpu.example.com)",
                                  "change: stays Healthy, XidPageFault (gpu.example.com, report 5)",
                                  "crash: container train, exit 1 (container runtime)",
                                  "change: stays Healthy, XidPageFault is over "
                                  "(gpu.example.com, report 6)"));
}

// Beside a fault of the device that was over before.
TEST_F(HistoryLogTest, WhatTheProgramOfAPodDoesToASoundDeviceIsItsStory) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 1, kSign);
  log_->Changed(Recovered(kSign + 1min), {}, 2, kSign + 1min);
  log_->Assigned({kLoggedPod, Recovered(kSign + 1min).after}, kSign + 2min);
  HealthChange noted{.before = Recovered(kSign + 1min).after, .after = Lost().before};
  noted.after.cause = {.code = "XidPageFault", .owner = FaultOwner::kApplication};
  noted.after.since = kSign + 3min;
  log_->Changed(noted, {.sign = "kernel log: Xid 31"}, 3, kSign + 3min);
  log_->Published(kLoggedPod, noted.after, {1ms}, kSign + 3min);
  EXPECT_THAT(Line(), Contains("sign: kernel log: Xid 31 (gpu.example.com)"));
  EXPECT_THAT(Line(), Not(Contains(HasSubstr("Xid 79"))));
}

TEST_F(HistoryLogTest, ARecoveryHasTheSignThatShowedIt) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign);
  const HealthChange back = Recovered(kSign + 9s);
  log_->Changed(back, {.sign = "simulator: reset host"}, 813, kSign + 9s);
  log_->Published(kLoggedPod, back.after, {3ms}, kSign + 9s + 3ms);
  EXPECT_THAT(Line(), Contains("sign: simulator: reset host (gpu.example.com)"));
}

// The driver was killed and started again: it repeats the sign of six seconds ago.
TEST_F(HistoryLogTest, CountsFromTheChangeWhereItsSignIsOldNews) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign + 1ms);
  log_->Published(kLoggedPod, Lost().after, {7ms}, kSign + 7ms);
  HealthChange gone{.before = Lost().after, .after = Lost().after};
  gone.after.state = HealthState::kUnknown;
  gone.after.cause = {.code = std::string(cause_code::kDriverGone)};
  gone.after.since = kSign + 5s;
  log_->Changed(gone, {.sign = "kernel log: Xid 79"}, 0, kSign + 5s);
  log_->Published(kLoggedPod, gone.after, {0ms}, kSign + 5s + 4ms);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();  // what is news does not depend on who remembers
  log_->Changed({.before = gone.after, .after = Lost().after}, {.sign = "kernel log: Xid 79"}, 1,
                kSign + 6s);
  log_->Published(kLoggedPod, Lost().after, {6s + 6ms}, kSign + 6s + 6ms);
  EXPECT_THAT(
      Line(),
      ElementsAre("sign: kernel log: Xid 79 (gpu.example.com)",
                  "change: Healthy → Unhealthy, XidGpuLost (gpu.example.com, report 812)",
                  "published: Pod status and annotation (7 ms after sign) (galen-agent)",
                  "change: Unhealthy → Unknown, DriverGone (galen-agent)",
                  "published: Pod status and annotation (4 ms after change) (galen-agent)",
                  "change: Unknown → Unhealthy, XidGpuLost (gpu.example.com, report 1)",
                  "published: Pod status and annotation (6 ms after change) (galen-agent)"));
}

TEST_F(HistoryLogTest, CountsFromTheSignThatTheAgentMissedWhileItWasAway) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign + 2s);
  log_->Published(kLoggedPod, Lost().after, {2s + 5ms}, kSign + 2s + 5ms);
  EXPECT_EQ(Line().back(),
            "published: Pod status and annotation (2005 ms after sign) (galen-agent)");
}

TEST_F(HistoryLogTest, ShowsHowADeviceWasWhenThePodGotItOnceAndCountsFromThere) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign + 1ms);
  const PodRef other{{"train", "trainer-9"}, "uid-9"};
  EXPECT_TRUE(log_->Assigned({other, Lost().after}, kSign + 30s));
  EXPECT_TRUE(log_->Assigned({kLoggedPod, Lost().after}, kSign + 60s));
  log_->Published(kLoggedPod, Lost().after, {60s}, kSign + 60s + 4ms);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();
  EXPECT_FALSE(log_->Assigned({kLoggedPod, Lost().after}, kSign + 90s)) << "it was noted before";
  EXPECT_THAT(
      Line(),
      ElementsAre("sign: kernel log: Xid 79 (gpu.example.com)",
                  "change: Healthy → Unhealthy, XidGpuLost (gpu.example.com, report 812)",
                  "assigned: to this Pod: Unhealthy, XidGpuLost (galen-agent)",
                  "published: Pod status and annotation (4 ms after assignment) (galen-agent)"));
  const std::vector<Step> steps = log_->StepsOf(kLoggedPod, {kLoggedGpu});
  EXPECT_THAT(steps, SizeIs(4)) << "what the other Pod got is its own story";
  EXPECT_EQ(steps[3].device, kLoggedGpu);
}

TEST_F(HistoryLogTest, ADeviceThatNeverChangedIsShownFromItsAssignment) {
  const DeviceHealth well{.id = kLoggedGpu, .state = HealthState::kHealthy};
  EXPECT_TRUE(log_->Assigned({kLoggedPod, well, true}, kSign));
  log_->Published(kLoggedPod, well, {600h}, kSign + 3ms);
  EXPECT_THAT(
      Line(),
      ElementsAre("assigned: found on this Pod: Healthy (galen-agent)",
                  "published: Pod status and annotation (3 ms after assignment) (galen-agent)"));
}

TEST_F(HistoryLogTest, ForgetsTheOldestOfDevicesThatNobodyReports) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign);
  const std::size_t most = HistoryLog::kOnlyAssignedMax;
  DeviceHealth silent{.id = kLoggedGpu, .cause = {.code = std::string(cause_code::kNotReported)}};
  PodRef pod;
  for (std::size_t i = 0; i < most + 10; ++i) {
    silent.id.device = "silent-" + std::to_string(i);
    pod = {{"train", "holder-" + std::to_string(i)}, "uid-" + std::to_string(i)};
    log_->Assigned({pod, silent}, kSign + 1s);
  }
  EXPECT_EQ(log_->remembered(), most + 1);
  log_->Published(pod, silent, {600h}, kSign + 1s + 3ms);
  EXPECT_EQ(log_->StepsOf(pod, {}).back().text,
            "Pod status and annotation (3 ms after assignment)");
  // What a driver reported is still known.
  log_->Kept({Lost()}, OnDisk::kBeforePublished, kSign + 2s);
  EXPECT_EQ(store_->OfDevice(kLoggedGpu).back().incident,
            store_->OfDevice(kLoggedGpu).front().incident);
}

TEST_F(HistoryLogTest, DevicesOfOneNameThatFailAtOnceAreTwoIncidents) {
  HealthChange others = Lost();
  others.before.id.driver = others.after.id.driver = "spare.example.com";
  log_->Changed(Lost(), {}, 812, kSign);
  log_->Changed(others, {}, 9, kSign);
  log_->Published(kLoggedPod, Lost().after, {7ms}, kSign + 7ms);
  EXPECT_THAT(Line(), SizeIs(2)) << "what another driver's device did is no matter of this Pod";
}

TEST_F(HistoryLogTest, LeavesOutWhatWasPublishedToAnEarlierPodOfTheName) {
  const PodRef earlier{kLoggedPod.key, "an-earlier-uid"};
  log_->Published(earlier, Lost().after, {7ms}, kSign - 60s);
  log_->Published(kLoggedPod, Lost().after, {7ms}, kSign);
  EXPECT_THAT(log_->StepsOf(kLoggedPod, {kLoggedGpu}), SizeIs(1));
  EXPECT_THAT(log_->StepsOf({kLoggedPod.key, ""}, {kLoggedGpu}), SizeIs(2))
      << "for one that is gone all are shown";
}

TEST_F(HistoryLogTest, GivesTheSentenceOfEachChange) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 1, kSign);
  const std::vector<Step> steps = log_->StepsOf(kLoggedPod, {kLoggedGpu});
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(steps[0].message, "");
  EXPECT_EQ(steps[1].message, "XID 79");
  EXPECT_EQ(steps[1].device, kLoggedGpu);
}

TEST_F(HistoryLogTest, WhatWasPublishedBeforeItWasKeptIsSaidSo) {
  log_->Changed(Lost(), {}, 6, kSign);
  log_->Kept({Lost()}, OnDisk::kAfterPublished, kSign + 9s);
  EXPECT_EQ(log_->StepsOf(kLoggedPod, {kLoggedGpu}).back().text, "journal, after it was published");
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();
  EXPECT_TRUE(store_->OfDevice(kLoggedGpu).back().late);
}

TEST_F(HistoryLogTest, AStartWithAJournalThatLostSomethingSaysThatStepsMayBeMissing) {
  log_->Changed(Lost(), {}, 6, kSign);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();
  EXPECT_FALSE(log_->has_gaps());
  BreakJournal();
  Open();
  EXPECT_TRUE(log_->has_gaps());
  log_->Changed(Lost(), {}, 7, kSign + 1s);
  log_->AgentStarted(kSign + 2s);
  EXPECT_THAT(log_->StepsOf(kLoggedPod, {kLoggedGpu}).back().text,
              HasSubstr("part of its journal was lost, so that steps before this may be missing"));
}

TEST_F(HistoryLogTest, ShowsTheAgentsOwnStartsAndStopsAmongTheStepsOnly) {
  log_->AgentStarted(kSign - 60s);
  EXPECT_THAT(log_->StepsOf(kLoggedPod, {kLoggedGpu}), IsEmpty());
  log_->Changed(Lost(), {}, 6, kSign);
  log_->AgentStopped(kSign + 1s);
  log_->AgentStarted(kSign + 2s);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();
  const std::vector<Step> steps = log_->StepsOf(kLoggedPod, {kLoggedGpu});
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps[1].kind, "agent-stopped");
  EXPECT_EQ(steps[2].kind, "agent-started");
  EXPECT_EQ(steps[2].device, DeviceId{});
  EXPECT_THAT(log_->Devices(), SizeIs(1)) << "it is no device";
}

TEST_F(HistoryLogTest, SaysThatASilenceWasOurOwnConclusion) {
  HealthChange silent = Lost();
  silent.after.cause = {.code = std::string(cause_code::kDriverSilent)};
  silent.after.state = HealthState::kUnknown;
  log_->Changed(silent, {.sign = "of another time"}, 812, kSign);
  log_->Published(kLoggedPod, silent.after, {1ms}, kSign + 1ms);
  EXPECT_THAT(Line(), ElementsAre("change: Healthy → Unknown, DriverSilent (galen-agent)",
                                  ::testing::StartsWith("published")));
}

TEST_F(HistoryLogTest, KnowsEveryDeviceAfterARestartAsItWasSynced) {
  log_->Changed(Lost(), {}, 1, kSign);
  ASSERT_TRUE(history::Synced(*log_).ok());
  HealthChange unsynced = Lost();
  unsynced.after.id.device = unsynced.before.id.device = "gpu-4";
  log_->Changed(unsynced, {}, 2, kSign);
  store_.reset();
  files_.Crash();
  Open();
  ASSERT_THAT(log_->Devices(), SizeIs(1));
  EXPECT_EQ(log_->Devices()[0], Lost().after);
}

TEST_F(HistoryLogTest, ARecoveryAfterARestartBelongsToTheSameIncident) {
  log_->Changed(Lost(), {}, 1, kSign);
  log_->Published(kLoggedPod, Lost().after, {1ms}, kSign);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();
  log_->Changed(Recovered(kSign + 60s), {}, 1, kSign + 60s);
  EXPECT_THAT(Line(), SizeIs(3)) << "found by the Pod through its incident";
}

// Each Pod that ever gets a GPU which was broken once.
TEST_F(HistoryLogTest, WhatWasOverBeforeThePodGotTheDeviceIsNotItsStory) {
  const PodRef before{{"train", "trainer-9"}, "uid-9"};
  const HealthChange recovered = Recovered(kSign + 30min);
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign);
  log_->Published(before, Lost().after, {7ms}, kSign + 7ms);
  log_->Changed(recovered, {.sign = "simulator: reset host"}, 1, kSign + 30min);
  log_->Assigned({kLoggedPod, recovered.after}, kSign + 60min);
  // The disk may be slower than the scheduler.
  log_->Kept({recovered}, OnDisk::kBeforePublished, kSign + 60min);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();  // by records that were read back as well
  log_->Published(kLoggedPod, recovered.after, {60min}, kSign + 60min + 4ms);
  log_->Crashed({kLoggedPod, "container train, exit 1", kSign + 80min}, {kLoggedGpu});
  EXPECT_THAT(Line(), ElementsAre("assigned: to this Pod: Healthy (galen-agent)",
                                  HasSubstr("published: Pod status and annotation (4 ms"),
                                  "crash: container train, exit 1 (container runtime)"));
  std::vector<std::string> kinds;
  for (const Step& step : log_->StepsOf(before, {})) kinds.push_back(step.kind);
  EXPECT_THAT(kinds, ElementsAre("sign", "change", "published", "sign", "change", "kept"));
  // What happens to it from now on is.
  HealthChange again = Lost();
  again.after.since = kSign + 90min;
  log_->Changed(again, {.sign = "kernel log: Xid 79 again"}, 2, kSign + 90min);
  log_->Published(kLoggedPod, again.after, {2ms}, kSign + 90min);
  EXPECT_THAT(Line(), Contains("sign: kernel log: Xid 79 again (gpu.example.com)"));
}

TEST_F(HistoryLogTest, ACrashSoonAfterAFaultThatPassedBelongsToIt) {
  log_->Changed(Lost(), {.sign = "kernel log: Xid 79"}, 812, kSign);
  log_->Changed(Recovered(kSign + 10s), {}, 1, kSign + 10s);
  log_->Crashed({kLoggedPod, "container train, exit 1", kSign + 12s}, {kLoggedGpu});
  EXPECT_THAT(Line(), Contains("sign: kernel log: Xid 79 (gpu.example.com)"));
}

TEST_F(HistoryLogTest, AForgottenDeviceIsNoMore) {
  log_->Changed(Lost(), {}, 1, kSign);
  log_->Forget(kLoggedGpu, "nobody names it any more", kSign + 1s);
  EXPECT_THAT(log_->Devices(), IsEmpty());
}

TEST_F(HistoryLogTest, TheLineOfADeviceShowsWhenItsDriverWasLostAndWhenItWasBack) {
  log_->DriverLost(kLoggedGpu.driver, "driver gpu.example.com is gone: hung up", kSign);
  log_->DriverLost("nic.example.com", "another's", kSign);
  log_->DriverConnected(kLoggedGpu.driver, kSign + 2s);
  ASSERT_TRUE(history::Synced(*log_).ok());
  Open();
  const std::vector<Step> steps = log_->StepsOf({{"train", "no-such-pod"}, ""}, {kLoggedGpu});
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(steps[0].kind, "driver-lost");
  EXPECT_EQ(steps[0].text, "driver gpu.example.com is gone: hung up");
  EXPECT_EQ(steps[1].kind, "driver-connected");
  EXPECT_EQ(steps[1].device, DeviceId{}) << "of no single device";
  EXPECT_THAT(log_->Devices(), IsEmpty());
}

TEST_F(HistoryLogTest, GivesTheNewestStepsOfALongLine) {
  for (int i = 0; i < 500; ++i) log_->Published(kLoggedPod, Lost().after, {1ms}, kSign + i * 1s);
  const std::vector<Step> steps = log_->StepsOf(kLoggedPod, {});
  ASSERT_THAT(steps, SizeIs(ChangeLog::kStepsMax));
  EXPECT_EQ(steps.back().time, kSign + 499s);
}

}  // namespace
}  // namespace galen::agent
