// PodPublisher, of devices that change faster than anybody reads.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/publish/fake_pod_server.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using PodStorm = PodPublisherTest;

TEST_F(PodStorm, AStormIsWrittenAtItsBeginningAndAtItsEnd) {
  for (int i = 0; i < 150; ++i) {
    Turn(i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy);
    loop_.Advance(26ms);
    if (i == 0) {
      EXPECT_THAT(published_, ElementsAre("Unhealthy")) << "the first change is published at once";
    }
  }
  loop_.Advance(ChangePacer::kRestMost);
  EXPECT_THAT(published_, ElementsAre("Unhealthy", "Healthy"));
  loop_.Advance(HeldChanges::kAnnotationCalm);
  EXPECT_THAT(published_, SizeIs(2));
  EXPECT_THAT(view_.pods.at(kPod).devices_annotation, HasSubstr("gpu-0 Healthy"));
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(PodStorm, WhatIsWorseThanThePodSaysDoesNotWaitForTheStormToEnd) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(10ms);
  Turn(HealthState::kHealthy);
  loop_.Advance(ChangePacer::kRest + 10ms);
  Turn(HealthState::kUnknown);
  loop_.Advance(10ms);
  EXPECT_THAT(published_, ElementsAre("Unhealthy", "Healthy", "Unknown"));
}

TEST_F(PodStorm, ADeviceInAStormHoldsUpNoOtherOfItsPod) {
  const DeviceId calm{"gpu.example.com", "node-1", "gpu-1"};
  view_.AddClaim("a-gpu", {{"main", kGpu}, {"main", calm}}, "a");
  index_.ClaimChanged({"default", "a-gpu"});
  Turn(HealthState::kUnhealthy);
  loop_.Advance(10ms);
  for (int i = 0; i < 9; ++i) {
    Turn(i % 2 == 0 ? HealthState::kHealthy : HealthState::kUnhealthy);
    loop_.Advance(10ms);
  }
  EXPECT_THAT(patches_, SizeIs(1));
  publisher_->Expect(kPod, {.id = calm, .state = HealthState::kHealthy, .since = loop_.WallNow()});
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  EXPECT_THAT(patches_, SizeIs(2));
}

TEST_F(PodStorm, AStormWhileTheServerIsAwayIsNotHeldBackOnceItIsBack) {
  status_ = 503;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(10ms);
  Turn(HealthState::kHealthy);
  status_ = 200;
  loop_.Advance(PodWriteQueue::kOutage.first * 4);
  EXPECT_THAT(published_, ElementsAre("Healthy"));
}

TEST_F(PodStorm, WhatIsHeldBackIsNotIdle) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(10ms);
  EXPECT_TRUE(publisher_->idle());
  Turn(HealthState::kHealthy);
  loop_.Advance(10ms);
  EXPECT_FALSE(publisher_->idle());
  publisher_->Flush();
  loop_.Advance(10ms);
  EXPECT_THAT(published_, ElementsAre("Unhealthy", "Healthy"))
      << "an agent that stops publishes it first";
  EXPECT_TRUE(publisher_->idle()) << "and then waits for nothing";
}

TEST_F(PodStorm, HowAContainerEndedDoesNotWaitForItsDevicesStorm) {
  Make(true);
  runs_ = true;
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "uid-a"},
                "spec": {"containers": [{"name": "train"}]}, "status": {"phase": "Running"}})";
  run_ = Json::Parse(R"({"phase": "Running"})").value();
  view_.pods.at(kPod).started = loop_.WallNow();
  for (int i = 0; i < 5; ++i) {
    Turn(i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy);
    loop_.Advance(20ms);
  }
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  ASSERT_THAT(patches_, SizeIs(1)) << "the storm is held back";
  (*run_)["containerStatuses"] =
      Json::Parse(R"([{"name": "train", "state": {"terminated": {"exitCode": 3}}}])").value();
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  ASSERT_THAT(patches_, SizeIs(2));
  EXPECT_EQ(
      patches_[1]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].AsInt(), 3);
}

TEST_F(PodStorm, APodThatIsToGoShowsAtOnceHowItsDevicesAre) {
  for (int i = 0; i < 3; ++i) {
    Turn(i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy);
    loop_.Advance(20ms);
  }
  Turn(HealthState::kHealthy);
  loop_.Advance(1ms);
  EXPECT_THAT(published_, ElementsAre("Unhealthy"));
  view_.pods.at(kPod).meta.deleted = loop_.WallNow() + 30s;
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  EXPECT_THAT(published_, ElementsAre("Unhealthy", "Healthy"));
}

TEST_F(PodStorm, TheLastStateIsWrittenHoweverFastItChanges) {
  for (int i = 0; i < 1000; ++i) {
    Turn(i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kDegraded);
    loop_.Advance(1ms);
  }
  EXPECT_LE(patches_.size(), 3u) << "a flapping device does not flood the server";
  loop_.Advance(HeldChanges::kAnnotationCalm);
  EXPECT_THAT(view_.pods.at(kPod).devices_annotation, HasSubstr("Degraded"));
}

TEST_F(PodStorm, DevicesThatTakeTurnsAreWrittenSoOftenAtMost) {
  constexpr int kDevices = 64, kSeconds = 5;
  for (int i = 0; i < kSeconds * 200; ++i) {
    // Each of them changes once in 320 ms and is calm: no change of it is held back for its own
    // sake.
    const DeviceId id{kGpu.driver, kGpu.pool, fmt::format("gpu-{}", i % kDevices)};
    health_ = {.id = kGpu,
               .state = i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy,
               .cause = {.code = "X"},
               .since = loop_.WallNow()};
    publisher_->Expect(kPod, {.id = id, .state = health_.state, .since = health_.since});
    publisher_->MarkDirty(kPod);
    loop_.Advance(5ms);
  }
  EXPECT_GE(patches_.size(), static_cast<std::size_t>(PodWriteQueue::kBurst));
  EXPECT_LE(patches_.size(), static_cast<std::size_t>(PodWriteQueue::kBurst +
                                                      kSeconds * (1s / PodWriteQueue::kRefill)));
  loop_.Advance(1s);
  EXPECT_THAT(view_.pods.at(kPod).devices_annotation, HasSubstr("Healthy"));
}

}  // namespace
}  // namespace galen::agent
