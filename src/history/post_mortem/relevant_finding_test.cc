#include "history/post_mortem/relevant_finding.h"

#include <gtest/gtest.h>

#include "history/post_mortem/post_mortem_text.h"

namespace galen::history {
namespace {

using namespace std::chrono_literals;
using When = RelevantFinding::When;

constexpr WallTime kEndOfFinding(std::chrono::seconds(1'795'269'734));  // 2026-11-21T14:02:14Z
constexpr auto kHealthy = HealthState::kHealthy;
constexpr auto kUnhealthy = HealthState::kUnhealthy;

// A Pod that began ten minutes before it ended; its device was well at first.
class RelevantFindingTest : public ::testing::Test {
 protected:
  void Add(HealthState state, Duration after_end, const std::string& message = "") {
    ReceivedFinding finding;
    finding.health = {.id = device().identity.id,
                      .state = state,
                      .cause = {.code = "X", .message = message},
                      .since = kEndOfFinding + after_end};
    finding.received = finding.health.since;
    device().findings.push_back(finding);
  }
  PostMortemDevice& device() { return record_.devices[0]; }
  RelevantFinding Relevant() const { return MostRelevantFinding(record_).value(); }
  HealthState AtTheEnd() { return FindingAtTheEnd(record_, device())->health.state; }

  PostMortem record_ = [] {
    PostMortem record;
    record.end = PodEnd::kDeleted;
    record.began = kEndOfFinding - 10min;
    record.first = record.ended = kEndOfFinding;
    record.containers = {{.container = "train", .exit_code = 0}};
    record.devices.emplace_back().identity.id = {"gpu.example.com", "node-7", "gpu-3"};
    return record;
  }();
};

TEST_F(RelevantFindingTest, AFaultThatIsThereAtTheEndIsShown) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, -3s, "XID 79");
  Add(kHealthy, 20s);
  EXPECT_EQ(Relevant().when, When::kAtTheEnd);
  EXPECT_EQ(AtTheEnd(), kUnhealthy);
  EXPECT_TRUE(HasFault(record_));
  EXPECT_EQ(SentenceOf(record_),
            "Deleted, container train, exit 0; gpu-3 Unhealthy since 2026-11-21T14:02:11Z: XID 79; "
            "nothing crashed");
}

TEST_F(RelevantFindingTest, AFaultThatADriverSawSomeSecondsLateWasThere) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, kSeenLate, "XID 79");
  EXPECT_EQ(Relevant().when, When::kAtTheEnd);
}

TEST_F(RelevantFindingTest, AFaultThatCameLaterIsShownAsSuch) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, 13s, "XID 79");
  EXPECT_EQ(Relevant().when, When::kAfter);
  EXPECT_EQ(AtTheEnd(), kHealthy);
  EXPECT_TRUE(HasFault(record_));
  EXPECT_FALSE(HadFaultByItsEnd(record_));
  EXPECT_EQ(SentenceOf(record_),
            "Deleted, container train, exit 0; gpu-3 Unhealthy 13s after the end: XID 79; nothing "
            "crashed");
}

TEST_F(RelevantFindingTest, TheFaultThatWasThereAtTheEndComesFirst) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, -112s, "XID 79");
  Add(kHealthy, -76s);
  Add(HealthState::kDegraded, -9s, "too hot");
  EXPECT_EQ(Relevant().finding->health.cause.message, "too hot");
  EXPECT_EQ(AtTheEnd(), HealthState::kDegraded);
}

TEST_F(RelevantFindingTest, AFaultThatWasOverIsShownWithItsTime) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, -112s, "XID 79");
  Add(kHealthy, -76s);
  EXPECT_EQ(Relevant().when, When::kBefore);
  EXPECT_EQ(AtTheEnd(), kHealthy);
  EXPECT_EQ(SentenceOf(record_),
            "Deleted, container train, exit 0; gpu-3 Unhealthy until 76s before the end: XID 79; "
            "nothing crashed");
}

// The card took its driver along.
// Two reports a moment apart are no fault that a driver saw late: the newest by then is how it was.
TEST_F(RelevantFindingTest, OfAnEndInAMomentOfManyReportsTheLastStateByThenIsShown) {
  Add(kHealthy, -1h);
  Add(HealthState::kUnknown, -30s, "driver gpu.example.com is gone");
  Add(kHealthy, -17ms);
  EXPECT_EQ(AtTheEnd(), kHealthy);
  Add(HealthState::kUnknown, 1s, "driver gpu.example.com is gone");
  EXPECT_EQ(AtTheEnd(), kHealthy) << "what nobody knew later";
}

TEST_F(RelevantFindingTest, AFaultThatOnlyFellSilentIsNotOver) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, -112s, "XID 79");
  Add(HealthState::kUnknown, -76s, "driver gpu.example.com is gone");
  EXPECT_EQ(Relevant().when, When::kAtTheEnd);
  EXPECT_EQ(AtTheEnd(), kUnhealthy);
  record_.began = kEndOfFinding - 60s;
  EXPECT_TRUE(HadFaultByItsEnd(record_));
}

TEST_F(RelevantFindingTest, AFaultThatWasOverWhenThePodBeganIsNoneOfIts) {
  record_.began = kEndOfFinding - 60s;
  Add(kUnhealthy, -112s, "XID 79");
  Add(kHealthy, -76s);
  EXPECT_FALSE(HasFault(record_));
  EXPECT_EQ(Relevant().finding->health.state, kHealthy);
  record_.began.reset();
  EXPECT_TRUE(HasFault(record_)) << "nobody knows when it began";
}

TEST_F(RelevantFindingTest, APodThatCrashedAtOnceHadNoneOfTheFaultsBeforeItEither) {
  record_.began = kEndOfFinding - 200ms;
  Add(kUnhealthy, -1h, "XID 79");
  Add(kHealthy, -500ms);
  EXPECT_FALSE(HasFault(record_));
}

TEST_F(RelevantFindingTest, WhatWasOverBeforeAnEndThatNobodySawIsOver) {
  Add(kUnhealthy, -2h, "XID 79");
  Add(kHealthy, -1h);
  record_.first = kEndOfFinding - 1h;
  record_.began = kEndOfFinding - 3h;
  EXPECT_EQ(Relevant().when, When::kAtTheEnd) << "an end that a kubelet dates, to the second";
  record_.exact = false;
  EXPECT_EQ(Relevant().when, When::kBefore);
  EXPECT_EQ(AtTheEnd(), kHealthy);
}

TEST_F(RelevantFindingTest, ADeviceThatFailedAtTheEndIsMoreRelevantThanAWorseOneThatFailedLater) {
  Add(kHealthy, -1h);
  Add(kUnhealthy, 1min, "later");
  record_.devices.push_back(device());
  record_.devices[1].identity.id.device = "gpu-4";
  record_.devices[1].findings[1].health.state = HealthState::kDegraded;
  record_.devices[1].findings[1].health.since = kEndOfFinding - 1s;
  EXPECT_EQ(Relevant().when, When::kAtTheEnd);
  const PostMortem bounded = Bounded(record_);
  EXPECT_EQ(bounded.devices[0].identity.id.device, "gpu-4");
}

TEST_F(RelevantFindingTest, ASignThatIsReportedLateIsOlderThanWhatWasReportedBeforeIt) {
  Add(kHealthy, -1h);
  Add(HealthState::kUnknown, 1s, "driver is not connected");
  Add(kUnhealthy, -3s, "XID 79");
  EXPECT_EQ(Relevant().finding->health.cause.message, "XID 79");
  EXPECT_EQ(Relevant().when, When::kAtTheEnd);
}

TEST_F(RelevantFindingTest, TimesThatAreCenturiesApartAreShownAsFarAsDurationsReach) {
  Add(kUnhealthy, -112s, "XID 79");
  Add(kHealthy, -76s);
  device().findings[1].health.since = ParseRfc3339("1678-01-01T00:00:00Z").value();
  record_.began.reset();
  record_.first = record_.ended = ParseRfc3339("2261-01-01T00:00:00Z").value();
  EXPECT_EQ(Relevant().when, When::kBefore);
  EXPECT_GT(Relevant().away, 200 * 365 * 24h);
  record_.first = record_.ended = device().findings[1].health.since;
  Add(kUnhealthy, 0s, "XID 79");
  device().findings.erase(device().findings.begin());
  device().findings[1].health.since = ParseRfc3339("2261-01-01T00:00:00Z").value();
  EXPECT_EQ(Relevant().when, When::kAfter);
  EXPECT_GT(Relevant().away, 200 * 365 * 24h);
}

TEST_F(RelevantFindingTest, WithoutAnyFindingNoneIsRelevant) {
  EXPECT_EQ(MostRelevantFinding(record_), std::nullopt);
  EXPECT_FALSE(HasFault(record_));
  EXPECT_EQ(FindingAtTheEnd(record_, device()), nullptr);
}

}  // namespace
}  // namespace galen::history
