#include "agent/publish/node_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/publish/test_node_publisher.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

TEST_F(NodePublisherTest, MakesTheObjectAndThenItsStatus) {
  Look();
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH", "PATCH status"));
}

TEST_F(NodePublisherTest, NewsThatOvertakeTheAnswerOfALookAreLookedAt) {
  Look();
  const std::string right = stored_;
  Restart();
  Take();
  holds_reads_ = true;
  Look();
  ASSERT_THAT(Take(), ElementsAre("GET"));
  std::size_t read = api_.requests().size() - 1;
  while (IsOfWatcher(api_.requests()[read])) --read;
  Alter(R"({"devices": []})");
  Watched("MODIFIED");
  holds_reads_ = false;
  api_.Head(read);
  api_.Data(read, right);
  api_.End(read);
  loop_.Advance(1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH status"));
  EXPECT_EQ(stored_, right);
}

TEST_F(NodePublisherTest, WritesNothingWhileNothingChanges) {
  Look();
  Take();
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_THAT(Take(), SizeIs(0));
  wanted_.summary.devices = 2;
  Look();
  EXPECT_THAT(Take(), ElementsAre("PATCH status"));
}

TEST_F(NodePublisherTest, ManyChangesAtATimeAreOneWrite) {
  Look();
  Take();
  for (int i = 0; i < 100; ++i) {
    wanted_.summary.devices = 100 + i;
    publisher_->MarkDirty();
  }
  loop_.Advance(1s);
  EXPECT_THAT(Take(), SizeIs(1));
}

TEST_F(NodePublisherTest, ChangesThatGoOnAreWrittenLessAndLessOften) {
  Look();
  loop_.Advance(1min);
  Take();
  for (int i = 0; i < 60'000; ++i) {
    wanted_.summary.devices = 100 + i;
    publisher_->MarkDirty();
    loop_.Advance(1ms);
  }
  // After 0.25, 0.75, 1.75, 3.75, 7.75 s, and then each 5 s.
  EXPECT_THAT(Take(), SizeIs(AllOf(Ge(15u), Le(16u))));
  wanted_.summary.devices = 7;
  publisher_->MarkDirty();
  loop_.Advance(NodePublisher::kGatherMost);
  EXPECT_THAT(Take(), SizeIs(1)) << "the last state is written";
}

TEST_F(NodePublisherTest, SingleChangesOneAfterTheOtherWaitNoLongerThanTheFirst) {
  Look();
  Take();
  for (int i = 0; i < 10; ++i) {
    wanted_.summary.devices = 10 + i;
    publisher_->MarkDirty();
    loop_.Advance(10ms);
    publisher_->MarkDirty();  // the Pod that was published comes back
    loop_.Advance(NodePublisher::kGather);
    EXPECT_THAT(Take(), SizeIs(1)) << i;
  }
}

TEST_F(NodePublisherTest, AnAgentThatCameBackFindsWhatItWrote) {
  Look();
  Take();
  wanted_.uid = "u";
  Restart();
  Look();
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node"));
}

TEST_F(NodePublisherTest, AClusterWithoutTheKindIsLoggedOnceAndAskedNowAndThen) {
  kind_exists_ = false;
  Look();
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH"))
      << "a 404 to one object says nothing of its kind";
  const std::uint64_t writes = publisher_->writes();
  const std::size_t requests = api_.requests().size();
  for (int i = 0; i < 3600; ++i) Look();
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(publisher_->trouble(), HasSubstr("apply its CRD, deploy/crds/nodedevicehealths"));
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(publisher_->writes(), writes) << "an agent that waits writes nothing";
  // In an hour: a look each 30 s to 1 min, and the watch's own tries.
  EXPECT_LE(api_.requests().size() - requests, 160u);
  kind_exists_ = true;
  loop_.Advance(NodePublisher::kMissingAgain.most + 1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH", "PATCH status"));
  EXPECT_EQ(publisher_->trouble(), "");
  ASSERT_THAT(lines_, SizeIs(2));
  EXPECT_THAT(lines_[1], HasSubstr("NodeDeviceHealth is written again"));
}

TEST_F(NodePublisherTest, AKindThatGoesASecondTimeIsLoggedAndAskedForLikeTheFirst) {
  kind_exists_ = false;
  Look();
  loop_.Advance(1h);
  kind_exists_ = true;
  loop_.Advance(NodePublisher::kMissingAgain.most + 1s);
  ASSERT_EQ(publisher_->trouble(), "");
  kind_exists_ = object_exists_ = false;
  wanted_.summary.devices = 2;
  Look();
  loop_.Advance(1s);
  EXPECT_THAT(publisher_->trouble(), HasSubstr("apply its CRD"));
  EXPECT_THAT(lines_, SizeIs(3));
  kind_exists_ = true;
  loop_.Advance(NodePublisher::kMissingAgain.first + 1s);
  EXPECT_EQ(publisher_->trouble(), "") << "a second absence is waited for no longer";
}

TEST_F(NodePublisherTest, ASecondRefusalIsTriedAgainAsSoonAsTheFirst) {
  refused_ = 403;
  Look();
  EXPECT_THAT(publisher_->trouble(), HasSubstr("403"));
  Take();
  loop_.Advance(1h);
  EXPECT_THAT(Take(), SizeIs(AllOf(Ge(12u), Le(30u)))) << "once in 5 minutes in the end";
  refused_ = 0;
  loop_.Advance(NodePublisher::kRefusedAgain.most + 1s);
  EXPECT_EQ(publisher_->trouble(), "");
  refused_ = 403;
  wanted_.summary.devices = 2;
  Look();
  EXPECT_THAT(publisher_->trouble(), HasSubstr("403"));
  refused_ = 0;
  loop_.Advance(NodePublisher::kRefusedAgain.first + 1s);
  EXPECT_EQ(publisher_->trouble(), "");
  EXPECT_THAT(stored_, HasSubstr(R"("devices":2)"));
}

TEST_F(NodePublisherTest, AnObjectThatSomebodyRemovedIsMadeAgain) {
  Look();
  Take();
  object_exists_ = false;
  wanted_.summary.devices = 2;
  publisher_->MarkDirty();
  loop_.Advance(5s);
  EXPECT_THAT(Take(), ElementsAre("PATCH status", "GET", "GET node", "PATCH", "PATCH status"));
}

TEST_F(NodePublisherTest, AnObjectThatSomebodyRemovedIsMadeAgainAlthoughNothingElseChanges) {
  Look();
  Take();
  Watched("ADDED");
  object_exists_ = false;
  Watched("DELETED");
  loop_.Advance(1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH", "PATCH status"));
}

TEST_F(NodePublisherTest, AnObjectThatSomebodyAlteredIsPutRight) {
  Look();
  Take();
  const std::string ours = stored_;
  Alter(R"({"summary": {"devices": 99}})");
  Watched("MODIFIED");
  loop_.Advance(1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH status"));
  EXPECT_EQ(stored_, ours);
}

TEST_F(NodePublisherTest, ItsOwnWritesAreNoNews) {
  Look();
  Take();
  Watched("MODIFIED");
  loop_.Advance(1s);
  EXPECT_THAT(Take(), SizeIs(0));
}

TEST_F(NodePublisherTest, TheLastStateIsWrittenAtOnce) {
  Look();
  Take();
  wanted_.summary.devices = 7;
  publisher_->Flush();
  EXPECT_FALSE(publisher_->idle());
  loop_.Advance(10ms);
  EXPECT_TRUE(publisher_->idle());
  EXPECT_THAT(Take(), ElementsAre("PATCH status"));
  publisher_->MarkDirty();
  EXPECT_TRUE(publisher_->idle()) << "an agent that stops waits for no storm to end";
}

}  // namespace
}  // namespace galen::agent
