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
using ::testing::StartsWith;

// A Pod that shows how its devices are, and rests.
class ShownPod : public PodPublisherTest {
 protected:
  ShownPod() {
    publisher_->MarkDirty(kPod);
    loop_.Advance(1min);
    patches_.clear();
  }
  // A single change, and a moment later another.
  void TurnTwice() {
    Turn(HealthState::kUnhealthy);
    loop_.Advance(1s);
    patches_.clear();
    published_.clear();
    Turn(HealthState::kHealthy);
  }
  static bool HasAnnotation(const Json& patch) { return patch["metadata"].Has("annotations"); }
  static bool HasCondition(const Json& patch) { return patch["status"].Has("conditions"); }
};

TEST_F(ShownPod, OfASingleChangeItsConditionAndAnnotationAreOneWriteAtOnce) {
  for (const HealthState state : {HealthState::kUnhealthy, HealthState::kHealthy}) {
    patches_.clear();
    Turn(state);
    loop_.Advance(1ms);
    ASSERT_THAT(patches_, SizeIs(1));
    EXPECT_TRUE(HasCondition(patches_[0]));
    EXPECT_TRUE(HasAnnotation(patches_[0]));
    EXPECT_TRUE(publisher_->idle());
    loop_.Advance(HeldChanges::kAnnotationCalm);
  }
}

TEST_F(ShownPod, OfTheNextChangeItsConditionIsWrittenAtOnceAndItsAnnotationWhenItsDevicesRest) {
  TurnTwice();
  loop_.Advance(HeldChanges::kAnnotationCalm - 1ms);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_TRUE(HasCondition(patches_[0]));
  EXPECT_FALSE(HasAnnotation(patches_[0])) << "a kubelet would sync the Pod for it";
  EXPECT_THAT(published_, ElementsAre("Healthy"));
  EXPECT_FALSE(annotated_) << "galen why must not claim it";
  EXPECT_FALSE(publisher_->idle());
  loop_.Advance(1ms);
  ASSERT_THAT(patches_, SizeIs(2));
  EXPECT_TRUE(HasAnnotation(patches_[1]));
  EXPECT_FALSE(HasCondition(patches_[1]));
  EXPECT_THAT(published_, ElementsAre("Healthy")) << "that was published once";
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(ShownPod, ItsAnnotationIsAtMostSoFarBehindDevicesThatDoNotRest) {
  TurnTwice();
  for (Duration passed{}; passed < HeldChanges::kAnnotationHoldMost; passed += 500ms) {
    EXPECT_FALSE(std::ranges::any_of(patches_, HasAnnotation));
    loop_.Advance(500ms);
    Turn(passed % 1s == 0s ? HealthState::kUnhealthy : HealthState::kUnknown);
  }
  loop_.Advance(1ms);
  EXPECT_TRUE(std::ranges::any_of(patches_, HasAnnotation));
}

TEST_F(ShownPod, NewsThatTheConditionDoesNotHaveIsWrittenIntoTheAnnotationAtOnce) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  patches_.clear();
  const DeviceId other{"gpu.example.com", "node-1", "gpu-1"};
  view_.AddClaim("a-gpu", {{"main", kGpu}, {"main", other}}, "a");
  index_.ClaimChanged({"default", "a-gpu"});
  publisher_->Expect(kPod, {.id = other, .since = loop_.WallNow()});
  Turn(HealthState::kHealthy);
  loop_.Advance(1ms);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_TRUE(HasAnnotation(patches_[0])) << "the condition names one device";
}

TEST_F(ShownPod, ThatGoesDoesNotHoldTheAnnotationBack) {
  TurnTwice();
  loop_.Advance(1ms);
  view_.pods.at(kPod).meta.deleted = loop_.WallNow();
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  EXPECT_TRUE(HasAnnotation(patches_.back()));
}

TEST_F(ShownPod, NorDoesAnAgentThatStops) {
  TurnTwice();
  loop_.Advance(1ms);
  publisher_->Flush();
  loop_.Advance(1ms);
  EXPECT_TRUE(HasAnnotation(patches_.back()));
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(ShownPod, AWriteThatFailedIsFollowedByOneWithTheAnnotation) {
  status_ = 500;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  status_ = 200;
  patches_.clear();
  loop_.Advance(1s);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_TRUE(HasAnnotation(patches_[0]));
}

TEST_F(ShownPod, ThatIsSoonAsItWasNeedsNoOtherAnnotation) {
  TurnTwice();
  loop_.Advance(HeldChanges::kAnnotationCalm);
  const DeviceHealth before = health_;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  loop_.Advance(1s);
  Turn(HealthState::kUnknown);
  loop_.Advance(1ms);
  patches_.clear();
  health_ = before;
  publisher_->Expect(kPod, health_);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1min);
  EXPECT_TRUE(publisher_->idle());
  EXPECT_THAT(view_.pods.at(kPod).devices_annotation, StartsWith("gpu-0 Healthy"));
}

}  // namespace
}  // namespace galen::agent
