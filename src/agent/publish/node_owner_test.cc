// To which Node the NodeDeviceHealth object belongs.
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
using ::testing::Le;
using ::testing::SizeIs;

constexpr const char* kOwners = R"([{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"n1"}])";

TEST_F(NodePublisherTest, TheObjectBelongsToItsNodeAlsoOneWithoutAnOwnerOrOfAnEarlierNode) {
  Look();
  EXPECT_EQ(Owners(), kOwners);
  for (const char* uid : {"", "n0"}) {
    PutOwners(
        *uid == '\0'
            ? Json()
            : Json::MakeArray({Json::MakeObject(
                  {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "node-1"}, {"uid", uid}})}));
    Restart();
    Take();
    Look();
    EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH")) << uid;
    EXPECT_EQ(Owners(), kOwners) << uid;
  }
}

TEST_F(NodePublisherTest, ANodeThatIsMadeAnewOwnsTheNextObject) {
  Look();
  node_.body = R"({"metadata": {"name": "node-1", "uid": "n2"}})";
  Watched("DELETED");
  object_exists_ = false;
  loop_.Advance(1s);
  EXPECT_THAT(Owners(), HasSubstr("n2"));
}

TEST_F(NodePublisherTest, WithoutItsNodeNoObjectIsMadeUntilThereIsOne) {
  node_.status = 404;
  Look();
  EXPECT_THAT(publisher_->trouble(), HasSubstr("there is no Node node-1"));
  for (int i = 0; i < 600; ++i) Look();
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(Take(), SizeIs(AllOf(Ge(20u), Le(80u))))
      << "two requests each 30 s to 1 min in the end";
  EXPECT_EQ(publisher_->writes(), 0u);
  node_.status = 200;
  loop_.Advance(NodePublisher::kMissingAgain.most + 1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH", "PATCH status"));
  EXPECT_EQ(publisher_->trouble(), "");
  node_.status = 404;
  object_exists_ = false;
  Watched("DELETED");
  loop_.Advance(1s);
  EXPECT_THAT(publisher_->trouble(), HasSubstr("there is no Node node-1"));
  node_.status = 200;
  loop_.Advance(2s);
  EXPECT_EQ(publisher_->trouble(), "") << "the second time it is found as soon as the first";
}

TEST_F(NodePublisherTest, AnObjectWhoseNodeIsGoneIsLeftToTheCollector) {
  Look();
  Take();
  node_.status = 404;
  Alter(R"({"devices": []})");
  Watched("MODIFIED");
  loop_.Advance(1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH status"));
}

TEST_F(NodePublisherTest, ARefusedOwnerStopsNoStatus) {
  owner_refused_ = 403;
  Look();
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH", "PATCH", "PATCH status"))
      << "made without an owner";
  EXPECT_EQ(Owners(), "null");
  EXPECT_THAT(publisher_->trouble(), HasSubstr("stays when the Node goes"));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("stays when the Node goes")));
  wanted_.summary.devices = 2;
  Look();
  EXPECT_THAT(Take(), ElementsAre("PATCH status"));
  publisher_->Retry();
  loop_.Advance(1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH"));
  EXPECT_THAT(lines_, SizeIs(1)) << "the same is not logged again";
  owner_refused_ = 0;
  publisher_->Retry();
  loop_.Advance(1s);
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH"));
  EXPECT_EQ(Owners(), kOwners);
  EXPECT_EQ(publisher_->trouble(), "");
}

TEST_F(NodePublisherTest, WhoMayNotReadItsNodeWritesItsStatusAllTheSame) {
  node_.status = 403;
  Look();
  EXPECT_THAT(Take(), ElementsAre("GET", "GET node", "PATCH", "PATCH status"));
  EXPECT_EQ(Owners(), "null");
  EXPECT_THAT(publisher_->trouble(), HasSubstr("stays when the Node goes"));
  node_.status = 200;
  publisher_->Retry();
  loop_.Advance(1s);
  EXPECT_EQ(Owners(), kOwners);
  EXPECT_EQ(publisher_->trouble(), "");
}

TEST_F(NodePublisherTest, AnOutageWhileItsNodeIsReadIsWaitedOut) {
  Look();
  PutOwners(Json());
  Restart();
  node_.status = 503;
  Look();
  node_.status = 200;
  loop_.Advance(5s);
  EXPECT_EQ(Owners(), kOwners);
  EXPECT_EQ(publisher_->trouble(), "");
}

}  // namespace
}  // namespace galen::agent
