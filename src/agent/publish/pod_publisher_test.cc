#include "agent/publish/pod_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/health/health_cache.h"
#include "agent/publish/fake_pod_server.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(PodPublisherTest, WritesWhatIsDifferentInOnePatchOnTheStatus) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_EQ(api_.last(), "PATCH /api/v1/namespaces/default/pods/a/status");
  EXPECT_EQ(patches_[0]["metadata"]["uid"].AsString(), "uid-a");
  EXPECT_THAT(published_, ElementsAre("Unhealthy"));
}

TEST_F(PodPublisherTest, APodThatHasEndedKeepsWhatItSaidAndGetsOnlyFaults) {
  Turn(HealthState::kHealthy);
  loop_.Advance(1s);
  const WallTime end = loop_.WallNow();
  EndPod();
  publisher_->KeepEvidence(kPod);
  publisher_->MarkDirty(kPod);
  patches_.clear();
  Turn(HealthState::kUnknown);
  loop_.Advance(2s);
  EXPECT_THAT(patches_, IsEmpty()) << "its driver went away after this Pod's end";
  Turn(HealthState::kUnhealthy, end + kSeenWithin);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, IsEmpty()) << "it happened to whoever holds the device now";
  Turn(HealthState::kUnhealthy, end);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, SizeIs(1));
  Turn(HealthState::kHealthy);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, SizeIs(1)) << "the device was repaired, the Pod was not";
}

TEST_F(PodPublisherTest, AReadThatIsRefusedIsMadeAgainLater) {
  Make(/*manager=*/true);
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "uid-a"}})";
  status_ = 403;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(400ms);
  EXPECT_THAT(api_.requests(), SizeIs(1));
  status_ = 200;
  loop_.Advance(PodWriteQueue::kRefusedAgain.first * 2);
  EXPECT_THAT(patches_, SizeIs(1));
}

// Kubernetes 1.36 makes claims for extended resources and knows no name for their health.
TEST_F(PodPublisherTest, AServerThatTakesNoHealthOfExtendedResourcesGetsTheRest) {
  Make(/*manager=*/true);
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "uid-a"},
      "spec": {"containers": [{"name": "train"}]},
      "status": {"containerStatuses": [{"name": "train"}], "extendedResourceClaimStatus": {
        "resourceClaimName": "a-extended", "requestMappings": [{"containerName": "train",
          "resourceName": "example.com/gpu", "requestName": "r-0"}]}}})";
  view_.pods.at(kPod) = kube::DecodePod(Json::Parse(object_).value()).value();
  view_.AddClaim("a-extended", {{"r-0", kGpu}}, "a");
  index_.PodChanged(kPod);
  refused_text_ = "claim:a-extended/r-0";
  refusal_ = R"({"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message":
      "Pod \"a\" is invalid: status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid"})";
  Turn(HealthState::kUnhealthy);
  loop_.Advance(100ms);
  ASSERT_THAT(patches_, SizeIs(1)) << "at once, without the entry";
  EXPECT_EQ(patches_[0]["status"]["conditions"][0]["status"].AsString(), "False");
  EXPECT_FALSE(patches_[0]["status"].Has("containerStatuses"));
  EXPECT_EQ(publisher_->trouble(), "");
  EXPECT_EQ(publisher_->writes(), 2u);
  Turn(HealthState::kHealthy);
  loop_.Advance(1s);
  EXPECT_EQ(publisher_->writes(), 3u) << "it is tried once";
}

TEST_F(PodPublisherTest, WritesNothingWhenThePodSaysItAlready) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  for (int i = 0; i < 10; ++i) {
    publisher_->MarkDirty(kPod);
    loop_.Advance(1s);
  }
  EXPECT_THAT(patches_, SizeIs(1));
}

TEST_F(PodPublisherTest, ChangesOfOneTurnAreOneWriteOfTheLast) {
  Turn(HealthState::kUnhealthy);
  Turn(HealthState::kHealthy);
  Turn(HealthState::kDegraded);
  loop_.Advance(1s);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_THAT(published_, ElementsAre("Degraded"));
}

TEST_F(PodPublisherTest, AnInformerThatIsBehindIsAnsweredWhenItCatchesUp) {
  informer_follows_ = false;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  Turn(HealthState::kHealthy);
  informer_follows_ = true;
  view_.pods.at(kPod).devices_annotation = "gpu-0 Unhealthy";
  publisher_->MarkDirty(kPod);
  loop_.Advance(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(view_.pods.at(kPod).devices_annotation, "gpu-0 Healthy");
}

TEST_F(PodPublisherTest, AServerThatIsAwayIsAskedAgainWithBackoff) {
  status_ = 503;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1min);
  EXPECT_LE(api_.requests().size(), 30u);
  Turn(HealthState::kDegraded);
  status_ = 200;
  loop_.Advance(31s);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_THAT(published_, ElementsAre("Degraded")) << "what is true now, not what was meanwhile";
}

TEST_F(PodPublisherTest, ARefusalIsNotTheEnd) {
  status_ = 403;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(400ms);
  EXPECT_THAT(api_.requests(), SizeIs(1));
  EXPECT_THAT(publisher_->trouble(), HasSubstr("default/a: HTTP 403"));
  loop_.Advance(1h);
  EXPECT_THAT(api_.requests(), SizeIs(AllOf(Gt(60u), Lt(150u)))) << "once a minute in the end";
  status_ = 200;
  loop_.Advance(PodWriteQueue::kRefusedAgain.most * 2);
  EXPECT_THAT(patches_, SizeIs(1));
  EXPECT_EQ(publisher_->trouble(), "");
}

TEST_F(PodPublisherTest, ARefusedPodThatIsGoneIsNoTroubleAnyMore) {
  status_ = 403;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  view_.pods.clear();
  publisher_->Forget(kPod);
  EXPECT_EQ(publisher_->trouble(), "");
}

TEST_F(PodPublisherTest, ARefusalThatArrivesAfterThePodHasGoneDoesNotStay) {
  api_.AnswerBy([](const net::HttpRequest&) { return std::nullopt; });
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  view_.pods.clear();
  publisher_->Forget(kPod);
  api_.Head(0, 403);
  api_.End(0);
  loop_.Advance(PodWriteQueue::kRefusedAgain.first * 2);
  EXPECT_EQ(publisher_->trouble(), "");
  EXPECT_THAT(lines_, Contains(HasSubstr("no Pod is refused any more")));
}

TEST_F(PodPublisherTest, ARefusedPodThatLetsGoOfItsDevicesIsNoTroubleAnyMore) {
  status_ = 403;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  EXPECT_NE(publisher_->trouble(), "");
  view_.pods.at(kPod).claims.clear();
  index_.PodChanged(kPod);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_EQ(publisher_->trouble(), "");
}

TEST_F(PodPublisherTest, ARefusedPodThatTheServerKnowsNoMoreIsNoTrouble) {
  status_ = 403;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(100ms);
  EXPECT_NE(publisher_->trouble(), "");
  // Its deletion is on its way to us.
  status_ = 404;
  loop_.Advance(PodWriteQueue::kRefusedAgain.first * 2);
  EXPECT_EQ(publisher_->trouble(), "");
}

TEST_F(PodPublisherTest, EachReasonOfRefusalsIsOneLineForAllPods) {
  view_.AddPod("b");
  view_.AddClaim("b-gpu", {{"main", kGpu}}, "b");
  index_.PodChanged({"default", "b"});
  status_ = 403;
  const auto refuse = [&](const std::string& pod, const std::string& why) {
    refusal_ =
        R"({"kind":"Status","message":"pods \")" + pod + R"(\" is forbidden: )" + why + "\"}";
    publisher_->MarkDirty({"default", pod});
    loop_.Advance(100ms);
  };
  Turn(HealthState::kUnhealthy);
  refuse("a", "no right");
  refuse("b", "no right");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("no right")));
  refuse("a", "a webhook says no");
  refuse("b", "a webhook says no");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("no right"), HasSubstr("a webhook says no")));
}

TEST_F(PodPublisherTest, APodThatIsGoneIsNoTrouble) {
  status_ = 404;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  view_.pods.clear();
  publisher_->Forget(kPod);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1min);
  EXPECT_THAT(api_.requests(), SizeIs(1));
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(PodPublisherTest, APodThatGoesWhileItIsWrittenHoldsUpNobody) {
  api_.AnswerBy([](const net::HttpRequest&) { return std::nullopt; });
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  publisher_->Forget(kPod);
  api_.Head(0, 404);
  api_.End(0);
  loop_.Advance(1s);
  EXPECT_TRUE(publisher_->idle());
}

TEST_F(PodPublisherTest, AnAnswerAboutAPodThatIsGoneSaysNothingOfTheNextOfItsName) {
  api_.AnswerBy([](const net::HttpRequest&) { return std::nullopt; });
  health_.state = HealthState::kUnhealthy;
  publisher_->Expect(kPod, health_);
  publisher_->MarkDirty(kPod);
  loop_.RunUntilIdle();
  publisher_->Forget(kPod);
  view_.pods.at(kPod).meta.uid = "uid-of-the-next";
  view_.claims.at({"default", "a-gpu"}).reserved_for = {{kPod, "uid-of-the-next"}};
  index_.PodChanged(kPod);
  publisher_->Expect(kPod, health_);
  api_.Head(0, 200);
  api_.End(0);
  loop_.RunUntilIdle();
  api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
  publisher_->MarkDirty(kPod);
  loop_.RunUntilIdle();
  EXPECT_THAT(published_, ElementsAre("Unhealthy", "Unhealthy")) << "each of its own Pod";
}

TEST_F(PodPublisherTest, HowAPodEndedStaysOnIt) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  view_.claims.clear();
  index_.ClaimChanged({"default", "a-gpu"});
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, SizeIs(1));
  EXPECT_THAT(view_.pods.at(kPod).devices_annotation, HasSubstr("Unhealthy"));
}

TEST_F(PodPublisherTest, MeasuresFromTheSign) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(0ms);
  api_.AnswerBy([](const net::HttpRequest&) { return std::nullopt; });
  EXPECT_EQ(after_sign_, 0ms);
  loop_.Advance(ChangePacer::kCalm);
  health_.since = loop_.WallNow() - 40ms;
  health_.cause.code = "Y";
  api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
  publisher_->Expect(kPod, health_);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1ms);
  EXPECT_EQ(after_sign_, 40ms);
}

TEST_F(PodPublisherTest, NothingIsWrittenBeforeTheListsAreKnown) {
  publisher_.emplace(
      PodPublisher::Edges{{loop_, random_, NullLog(), metrics_, client_}, view_, index_},
      PodPublisher::Options{.health_of = [this](const DeviceId&) { return health_; }});
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_THAT(api_.requests(), IsEmpty());
}

TEST_F(PodPublisherTest, APodOfWhichNotAllIsKnownShowsWhatIsAndKeepsTheRestUntilPatienceEnds) {
  view_.pods.at(kPod).devices_annotation = "GPU-1 Healthy";
  patience_ = 30s;
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  const std::string& shown = view_.pods.at(kPod).devices_annotation;
  EXPECT_THAT(shown, AllOf(HasSubstr("gpu-0 Unhealthy"), HasSubstr("; GPU-1 Healthy")));
  EXPECT_FALSE(publisher_->idle()) << "it is looked at again";
  publisher_->Flush();
  loop_.Advance(1s);
  EXPECT_TRUE(publisher_->idle()) << "an agent that stops waits for nobody";
  Make(false);
  patience_ = Duration::max();
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_TRUE(publisher_->idle());
  patience_ = {};
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_THAT(shown, Not(HasSubstr("GPU-1")));
}

TEST_F(PodPublisherTest, AManagerReadsBeforeItReplacesTheLists) {
  Make(true);
  runs_ = true;
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "uid-a",
                             "resourceVersion": "41"},
                "spec": {"containers": [{"name": "train"}]}, "status": {"phase": "Pending"}})";
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1ms);
  ASSERT_GE(api_.requests().size(), 2u);
  EXPECT_EQ(api_.requests()[0].method, "GET");
  ASSERT_GE(patches_.size(), 1u);
  EXPECT_EQ(patches_[0]["metadata"]["resourceVersion"].AsString(), "41");
  const Json& status = patches_[0]["status"]["containerStatuses"][0];
  EXPECT_EQ(status["allocatedResourcesStatus"][0]["resources"][0]["health"].AsString(),
            "Unhealthy");
}

TEST_F(PodPublisherTest, AnAgentThatStartsLaterLeavesAnEndedPodAsItEnded) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  EndPod();
  at_end_ = health_;
  loop_.Advance(10min);
  // Repaired, while no agent ran.
  health_ = {.id = kGpu, .state = HealthState::kHealthy, .since = loop_.WallNow()};
  patches_.clear();
  Make(false);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, IsEmpty());
}

TEST_F(PodPublisherTest, AnAgentThatLostItsJournalLeavesAnEndedPodAsItEnded) {
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  EndPod();
  at_end_ = NotReportedHealth(kGpu);
  loop_.Advance(10min);
  health_ = {.id = kGpu, .state = HealthState::kHealthy, .since = loop_.WallNow()};
  patches_.clear();
  Make(false);
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, IsEmpty()) << "what it shows is more than the agent knows";
  view_.pods.at(kPod).devices_annotation = "";
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, SizeIs(1)) << "a Pod without an annotation is still written";
}

TEST_F(PodPublisherTest, AManagerThatReadsAPodTooLateKeepsNothingOfItForTheNextOfItsName) {
  Make(true);
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "uid-a"},
                "spec": {"containers": [{"name": "train"}]}, "status": {"phase": "Failed",
                "containerStatuses": [{"name": "train"}]}})";
  on_read_ = [this] {
    // The informer has the next one of the name before the answer arrives.
    publisher_->Forget(kPod);
    view_.pods.at(kPod).meta.uid = "uid-b";
  };
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  ASSERT_THAT(patches_, IsEmpty());
  health_ = {.id = kGpu, .state = HealthState::kHealthy, .since = loop_.WallNow()};
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "uid-b"},
                "spec": {"containers": [{"name": "train"}]}, "status": {"phase": "Failed",
                "containerStatuses": [{"name": "train"}]}})";
  loop_.Advance(1min);
  view_.pods.at(kPod).phase = "Failed";
  publisher_->MarkDirty(kPod);
  loop_.Advance(1s);
  ASSERT_THAT(patches_, SizeIs(1));
  EXPECT_EQ(
      patches_[0]["metadata"]["annotations"][kube::kDevicesAnnotation].AsString().substr(0, 13),
      "gpu-0 Healthy");
}

TEST_F(PodPublisherTest, AManagerWritesToNoOtherPodOfTheSameName) {
  Make(true);
  object_ = R"({"metadata": {"name": "a", "namespace": "default", "uid": "another"}})";
  Turn(HealthState::kUnhealthy);
  loop_.Advance(1s);
  EXPECT_THAT(patches_, IsEmpty());
}

}  // namespace
}  // namespace galen::agent
