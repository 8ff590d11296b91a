// PodPublisher: the annotation beside its condition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/publish/fake_pod_server.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// A Pod that shows how its devices are, and rests.
class ShownPod : public PodPublisherTest {
 protected:
  ShownPod() {
    publisher_->MarkDirty(kPod);
    loop_.Advance(1min);
    patches_.clear();
  }
  static bool HasAnnotation(const Json& patch) { return patch["metadata"].Has("annotations"); }
  static bool HasCondition(const Json& patch) { return patch["status"].Has("conditions"); }
};

TEST_F(ShownPod, ItsConditionIsWrittenAtOnceAndItsAnnotationWhenItsDevicesRest) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(HeldChanges::kAnnotationCalm - 1ms);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_TRUE(HasCondition(patches_[0]));
  EXPECT_FALSE(HasAnnotation(patches_[0])) << "a kubelet would sync the Pod for it";
  EXPECT_THAT(published_, ElementsAre("Unhealthy"));
  EXPECT_FALSE(publisher_->idle());
  loop_.Advance(1ms);
  ASSERT_THAT(patches_, SizeIs(2));
  EXPECT_TRUE(HasAnnotation(patches_[1]));
  EXPECT_FALSE(HasCondition(patches_[1]));
  EXPECT_THAT(published_, ElementsAre("Unhealthy")) << "that was published once";
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(ShownPod, ItsAnnotationIsAtMostSoFarBehindDevicesThatDoNotRest) {
  for (Duration passed{}; passed < HeldChanges::kAnnotationHoldMost; passed += 500ms) {
    Turn(passed % 1s == 0s ? HealthState::kUnhealthy : HealthState::kUnknown);
    loop_.Advance(500ms);
  }
  loop_.Advance(1ms);
  EXPECT_TRUE(std::ranges::any_of(patches_, HasAnnotation));
}

TEST_F(ShownPod, NewsThatTheConditionDoesNotHaveIsWrittenIntoTheAnnotationAtOnce) {
  const DeviceId other{"gpu.example.com", "node-1", "gpu-1"};
  view_.AddClaim("a-gpu", {{"main", kGpu}, {"main", other}}, "a");
  index_.ClaimChanged({"default", "a-gpu"});
  publisher_->Expect(kPod, {.id = other, .since = loop_.WallNow()});
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_TRUE(HasAnnotation(patches_[0])) << "the condition names one device";
}

TEST_F(ShownPod, ThatGoesAndAnAgentThatStopsDoNotHoldTheAnnotationBack) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  view_.pods.at(kPod).meta.deleted = loop_.WallNow();
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  EXPECT_TRUE(HasAnnotation(patches_.back()));
  view_.pods.at(kPod).meta.deleted.reset();
  Turn(HealthState::kHealthy);
  loop_.Advance(1ms);
  publisher_->Flush();
  loop_.Advance(1ms);
  EXPECT_TRUE(HasAnnotation(patches_.back()));
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(ShownPod, ThatIsSoonAsItWasNeedsNoOtherAnnotation) {
  const WallTime since = health_.since;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  health_.cause = {};
  health_ = {.id = kGpu, .state = HealthState::kHealthy, .since = since};
  publisher_->Expect(kPod, health_);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1min);
  EXPECT_FALSE(std::ranges::any_of(patches_, HasAnnotation));
  EXPECT_TRUE(publisher_->idle());
  // What was not written then makes the next change no later than it is.
  patches_.clear();
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  EXPECT_FALSE(std::ranges::any_of(patches_, HasAnnotation));
}

}  // namespace
}  // namespace galen::agent
