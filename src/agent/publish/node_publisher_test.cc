#include "agent/publish/node_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

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

class NodePublisherTest : public ::testing::Test {
 protected:
  NodePublisherTest()
      : log_(
            LogLevel::kInfo, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
    Restart();
    wanted_.node = "node-1";
    wanted_.summary.devices = 1;
  }

  void Restart() {
    publisher_.emplace(NodePublisher::Edges{loop_, random_, log_, metrics_, client_}, "node-1",
                       [this](const auto&) { return wanted_; });
  }
  // The object after a patch that replaces its status.
  std::string Patched(const std::string& text) const {
    const Json patch = Json::Parse(text).value();
    EXPECT_EQ(patch[0]["path"].AsString(), "/status") << text;
    Json object = Json::Parse(stored_).value();
    object["status"] = patch[0]["value"];
    return object.Dump();
  }
  void Alter(const std::string& status) {
    Json object = Json::Parse(stored_).value();
    object["status"] = Json::Parse(status).value();
    stored_ = object.Dump();
  }
  void PutOwners(const Json& owners) {
    Json object = Json::Parse(stored_).value();
    object["metadata"].Erase("ownerReferences");
    if (!owners.is_null()) object["metadata"]["ownerReferences"] = owners;
    stored_ = object.Dump();
  }
  std::string Owners() const {
    return Json::Parse(stored_).value()["metadata"]["ownerReferences"].Dump();
  }
  static bool IsOfNode(const net::HttpRequest& request) {
    return request.path.starts_with("/api/v1/nodes/node-1");
  }
  static bool IsOfWatcher(const net::HttpRequest& request) {
    return request.path.find("fieldSelector") != std::string::npos;
  }
  std::optional<kube::FakeTransport::Answer> Answer(const net::HttpRequest& request) {
    if (IsOfWatcher(request)) return AnswerWatcher(request);
    if (IsOfNode(request)) return node_;
    const bool status = request.path.find("/status") != std::string::npos;
    if (owner_refused_ && request.body.find("ownerReferences") != std::string::npos) {
      return kube::FakeTransport::Answer{.status = owner_refused_};
    }
    if (!kind_exists_ || (!object_exists_ && (request.method == "GET" || status))) {
      return kube::FakeTransport::Answer{.status = 404};
    }
    if (request.method == "GET" && holds_reads_) return std::nullopt;
    if (request.method == "GET") return kube::FakeTransport::Answer{.body = stored_};
    object_exists_ = true;
    if (status) stored_ = Patched(request.body);
    if (!status) PutOwners(Json::Parse(request.body).value()["metadata"]["ownerReferences"]);
    return kube::FakeTransport::Answer{.body = "{}"};
  }
  std::optional<kube::FakeTransport::Answer> AnswerWatcher(const net::HttpRequest& request) {
    if (!kind_exists_) return kube::FakeTransport::Answer{.status = 404};
    if (request.path.find("watch=") != std::string::npos) return std::nullopt;  // a test's to send
    const std::string items = object_exists_ ? stored_ : "";
    return kube::FakeTransport::Answer{
        .body = R"({"metadata": {"resourceVersion": "1"}, "items": [)" + items + "]}"};
  }
  // What the watch reports of the object.
  void Watched(const std::string& type) {
    Json object = Json::Parse(stored_).value();
    object["metadata"]["resourceVersion"] = "2";
    const std::string line =
        Json::MakeObject({{"type", type}, {"object", std::move(object)}}).Dump() + "\n";
    for (std::size_t i = api_.requests().size(); i-- > 0;) {
      if (api_.requests()[i].path.find("watch=") == std::string::npos) continue;
      api_.Head(i);
      api_.Data(i, line);
      break;
    }
  }
  std::vector<std::string> Take() {
    std::vector<std::string> verbs;
    for (; seen_ < api_.requests().size(); ++seen_) {
      const net::HttpRequest& request = api_.requests()[seen_];
      if (IsOfWatcher(request)) continue;
      const bool status = request.path.find("/status") != std::string::npos;
      const char* of = IsOfNode(request) ? " node" : status ? " status" : "";
      verbs.push_back(request.method + of);
    }
    return verbs;
  }
  void Look() {
    publisher_->MarkDirty();
    loop_.Advance(1s);
  }

  FakeLoop loop_;
  Random random_{1};
  std::vector<std::string> lines_;
  Log log_;
  Metrics metrics_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  bool kind_exists_ = true;
  bool holds_reads_ = false;  // their answers are a test's to send
  bool object_exists_ = false;
  kube::FakeTransport::Answer node_{.body = R"({"metadata": {"name": "node-1", "uid": "n1"}})"};
  int owner_refused_ = 0;  // the status of the answer to writes of it; 0: taken
  std::string stored_ = R"({"metadata": {"name": "node-1", "uid": "u"}})";
  std::size_t seen_ = 0;
  kube::NodeDeviceHealth wanted_;
  std::optional<NodePublisher> publisher_;
};

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

constexpr const char* kOwners = R"([{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"n1"}])";

TEST_F(NodePublisherTest, TheObjectBelongsToItsNodeAndGoesWithIt) {
  Look();
  EXPECT_EQ(Owners(), kOwners);
}
TEST_F(NodePublisherTest, AnObjectWithoutAnOwnerOrOfAnEarlierNodeIsGivenToTheNodeThatThereIs) {
  Look();
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
  node_.status = 503;
  Look();
  node_.status = 200;
  loop_.Advance(5s);
  EXPECT_EQ(Owners(), kOwners);
  EXPECT_EQ(publisher_->trouble(), "");
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
