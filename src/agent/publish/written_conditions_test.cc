// The time of the condition's last transition where the informer is behind what was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/publish/fake_pod_server.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;

// A Pod of an observer whose watch shows nothing of what is written.
class LateInformer : public PodPublisherTest {
 protected:
  LateInformer() {
    publisher_->MarkDirty(kPod);
    loop_.Advance(10s);
    view_.pods.at(kPod) = kube::DecodePod(Stored()).value();
    view_.pods.at(kPod).phase = "Running";
    informer_follows_ = false;
    patches_.clear();
  }
  std::string TimeAfter(HealthState state, const std::string& message) {
    Turn(state);
    health_.cause.message = message;
    publisher_->MarkDirty(kPod);
    loop_.Advance(3s);
    return condition_["lastTransitionTime"].AsString();
  }
};

TEST_F(LateInformer, ASecondTroubleMovesNoTimeOfTheFirst) {
  const std::string broken = TimeAfter(HealthState::kUnhealthy, "XID 79");
  EXPECT_EQ(TimeAfter(HealthState::kUnhealthy, "XID 119"), broken);
  EXPECT_EQ(condition_["message"].AsString().substr(0, 15), "gpu-0 Unhealthy");
  ASSERT_THAT(patches_, SizeIs(2));
}

TEST_F(LateInformer, ARecoveryIsOfItsOwnTimeAndNotOfTheTimeBeforeTheTrouble) {
  const std::string well = condition_["lastTransitionTime"].AsString();
  const std::string broken = TimeAfter(HealthState::kUnhealthy, "XID 79");
  ASSERT_NE(broken, well);
  // True as before, with another reason.
  const std::string degraded = TimeAfter(HealthState::kDegraded, "half the lanes");
  EXPECT_EQ(condition_["status"].AsString(), "True");
  EXPECT_GT(degraded, broken);
}

TEST_F(LateInformer, ARecoveryIsWrittenBeforeTheTroubleIsSeen) {
  TimeAfter(HealthState::kUnhealthy, "XID 79");
  TimeAfter(HealthState::kHealthy, "");
  EXPECT_EQ(condition_["status"].AsString(), "True");
}

TEST_F(LateInformer, WhatSomebodyElseWroteSinceCounts) {
  const std::string broken = TimeAfter(HealthState::kUnhealthy, "XID 79");
  view_.pods.at(kPod).conditions.clear();  // removed by hand
  const std::string again = TimeAfter(HealthState::kUnhealthy, "XID 79");
  EXPECT_GT(again, broken);
}

TEST(WrittenConditions, OfAnotherPodOfTheNameAreNone) {
  kube::Pod before;
  before.meta = {.key = {"default", "a"}, .uid = "old"};
  kube::Pod after = before;
  after.conditions = {{.type = std::string(kube::kDevicesCondition), .status = "False"}};
  WrittenConditions written;
  written.Note(before, after);
  ASSERT_TRUE(written.Newer(before));
  EXPECT_EQ(written.Newer(before)->conditions, after.conditions);
  kube::Pod other = before;
  other.meta.uid = "new";
  EXPECT_FALSE(written.Newer(other));
  EXPECT_FALSE(written.Newer(before)) << "what is not needed any more is let go";
}

TEST(WrittenConditions, AreFewOfEachPod) {
  kube::Pod pod;
  pod.meta = {.key = {"default", "a"}, .uid = "a"};
  const kube::Pod first = pod;
  WrittenConditions written;
  for (std::size_t i = 0; i <= WrittenConditions::kBehindMax; ++i) {
    EXPECT_EQ(written.Newer(first).has_value(), i > 0);
    kube::Pod after = pod;
    after.conditions = {
        {.type = std::string(kube::kDevicesCondition), .message = "number " + std::to_string(i)}};
    written.Note(pod, after);
    pod = after;
  }
  EXPECT_FALSE(written.Newer(first)) << "an informer so far behind is believed";
}

}  // namespace
}  // namespace galen::agent
