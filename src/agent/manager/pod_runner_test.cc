#include "agent/manager/pod_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/holdings/fake_node_view.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"
#include "protos/dra/v1/dra.pb.h"

namespace galen::agent {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const DeviceId kGpu{"gpu.example.com", "node-1", "gpu-0"};

// Says yes to everything, unless it is away.
class WillingDriver final : public DriverCaller {
 public:
  explicit WillingDriver(Loop& loop) : loop_(loop) {}
  void CallDriver(const std::string&, NodeCall call, std::string bytes,
                  std::function<void(StatusOr<std::string>)> done) override {
    calls.push_back(call == NodeCall::kPrepare ? "prepare" : "unprepare");
    if (away) return loop_.Post([done] { done(Unavailable("away")); });
    dra::NodePrepareResourcesRequest request;
    EXPECT_TRUE(request.ParseFromString(bytes));
    dra::NodePrepareResourcesResponse response;
    for (const dra::Claim& claim : request.claims()) (*response.mutable_claims())[claim.uid()];
    loop_.Post([done, reply = response.SerializeAsString()] { done(reply); });
  }
  std::vector<std::string> Take() { return std::exchange(calls, {}); }

  std::vector<std::string> calls;
  bool away = false;

 private:
  Loop& loop_;
};

class PodRunnerTest : public ::testing::Test {
 protected:
  PodRunnerTest() {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest&) {
      return kube::FakeTransport::Answer{.status = status_, .body = "{}"};
    });
    runner_.Open();
  }
  std::vector<std::string> Deleted() {
    std::vector<std::string> paths;
    for (const net::HttpRequest& request : api_.requests()) {
      if (request.method == "DELETE") paths.push_back(request.path);
    }
    return paths;
  }
  std::vector<std::string> EventReasons() {
    std::vector<std::string> reasons;
    for (const net::HttpRequest& request : api_.requests()) {
      if (request.method != "DELETE") {
        reasons.push_back(Json::Parse(request.body).value()["reason"].AsString());
      }
    }
    return reasons;
  }
  kube::Pod& Pod() { return view_.pods.at({"default", "a"}); }
  void Mark() {
    runner_.MarkDirty({{"default", "a"}, "uid-a"});
    loop_.Advance(1s);
  }

  FakeLoop loop_;
  Random random_{1};
  Metrics metrics_;
  FakeFileSystem files_;
  FakeNodeView view_;
  WillingDriver driver_{loop_};
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  int status_ = 200;
  ClaimCheckpoint claims_{files_, "/claims.json"};
  ClaimCaller preparer_{{loop_, driver_, view_, claims_}};
  EventPublisher events_{{loop_, random_, NullLog(), metrics_, client_}, "node-1"};
  std::vector<std::string> ready_;
  PodRunner runner_{{{loop_, random_, NullLog(), metrics_, client_}, view_, preparer_, events_},
                    [this](const ObjectKey& pod) { ready_.push_back(pod.name); }};
};

TEST_F(PodRunnerTest, APodRunsOnceItsClaimsAreReady) {
  view_.AddPod("a");
  Mark();
  EXPECT_FALSE(runner_.Runs(Pod()));
  EXPECT_THAT(driver_.Take(), IsEmpty());
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  EXPECT_THAT(driver_.Take(), ElementsAre("prepare"));
  EXPECT_THAT(ready_, ElementsAre("a"));
  EXPECT_TRUE(runner_.Runs(Pod()));
}

TEST_F(PodRunnerTest, ADriverThatIsAwayIsShownOnThePodAndAskedAgain) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  driver_.away = true;
  Mark();
  EXPECT_FALSE(runner_.Runs(Pod()));
  ASSERT_FALSE(api_.requests().empty());
  EXPECT_EQ(Json::Parse(api_.requests()[0].body).value()["reason"].AsString(),
            "FailedPrepareDynamicResources");
  driver_.away = false;
  loop_.Advance(30s);
  EXPECT_TRUE(runner_.Runs(Pod()));
}

// A Pod was stuck in Terminating for a minute and nothing but the agent's log knew why.
TEST_F(PodRunnerTest, APodThatCannotGoSaysWhyOnceAndGoesAsSoonAsItsDriverIsBack) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  EXPECT_EQ(runner_.trouble(), "");
  driver_.away = true;
  Pod().meta.deleted = loop_.WallNow();
  Mark();
  loop_.Advance(2min);
  EXPECT_THAT(EventReasons(), ElementsAre("FailedUnprepareDynamicResources"));
  EXPECT_EQ(Json::Parse(api_.requests()[0].body).value()["message"].AsString(),
            "The Pod stays until its claims are unprepared: driver gpu.example.com: away");
  EXPECT_EQ(runner_.trouble(),
            "claims of Pod default/a cannot be unprepared: driver gpu.example.com: away");
  driver_.away = false;
  runner_.OnDriverConnected();
  loop_.Advance(1ms);
  EXPECT_THAT(Deleted(), SizeIs(1));
  EXPECT_EQ(runner_.trouble(), "");
}

TEST_F(PodRunnerTest, APodIsPreparedAsSoonAsItsDriverIsThere) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  driver_.away = true;
  Mark();
  loop_.Advance(2min);
  EXPECT_EQ(runner_.trouble(),
            "claims of Pod default/a cannot be prepared: driver gpu.example.com: away");
  driver_.away = false;
  runner_.OnDriverConnected();
  loop_.Advance(1ms);
  EXPECT_TRUE(runner_.Runs(Pod()));
  EXPECT_EQ(runner_.trouble(), "");
}

// No event announces a directory that may be written again.
TEST_F(PodRunnerTest, WhatOnlyAnOperatorCanMendIsTriedAgainByTime) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  files_.FailWrites(PermissionDenied("/claims.json: Permission denied"));
  Mark();
  loop_.Advance(1h);
  EXPECT_THAT(runner_.trouble(), HasSubstr("cannot be prepared: write checkpoint /claims.json"));
  files_.FailWrites(std::nullopt);
  loop_.Advance(PodRunner::kPatientBackoff.most);
  EXPECT_TRUE(runner_.Runs(Pod()));
  EXPECT_EQ(runner_.trouble(), "");
}

TEST_F(PodRunnerTest, WhatOnlyAnOperatorCanMendIsTriedAtOnceAtNewsOfThePod) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  files_.FailWrites(PermissionDenied("/claims.json: Permission denied"));
  Mark();
  loop_.Advance(1h);
  files_.FailWrites(std::nullopt);
  runner_.MarkDirty({{"default", "a"}, "uid-a"});
  loop_.Advance(1ms);
  EXPECT_TRUE(runner_.Runs(Pod()));
}

TEST_F(PodRunnerTest, NewsOfAPodThatFailsAreNoStormOfCalls) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  driver_.away = true;
  Mark();
  loop_.Advance(2min);
  driver_.Take();
  for (int i = 0; i < 100; ++i) {
    runner_.MarkDirty({{"default", "a"}, "uid-a"});
    loop_.Advance(10ms);
  }
  EXPECT_LE(driver_.Take().size(), 1u);
}

TEST_F(PodRunnerTest, ADeletedPodGoesAfterItsClaimsWereLetGoOf) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  driver_.away = true;
  Pod().meta.deleted = loop_.WallNow();
  Mark();
  EXPECT_THAT(Deleted(), IsEmpty()) << "the claim is not let go of yet";
  driver_.away = false;
  loop_.Advance(30s);
  ASSERT_THAT(Deleted(), SizeIs(1));
  EXPECT_EQ(Json::Parse(api_.requests().back().body).value()["preconditions"]["uid"].AsString(),
            "uid-a");
  EXPECT_EQ(Json::Parse(api_.requests().back().body).value()["gracePeriodSeconds"].AsInt(-1), 0);
  EXPECT_THAT(claims_.all(), IsEmpty());
}

TEST_F(PodRunnerTest, PodsThatShareAClaimRunTogetherAndNoneHasAFault) {
  view_.AddPod("a");
  view_.AddPod("b").claim_names = {{"gpu", "a-gpu"}};
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a")
      .reserved_for.push_back({{"default", "b"}, "uid-b"});
  runner_.MarkDirty({{"default", "a"}, "uid-a"});
  runner_.MarkDirty({{"default", "b"}, "uid-b"});
  loop_.Advance(10ms);
  EXPECT_THAT(ready_, ElementsAre("a", "b"));
  EXPECT_THAT(driver_.Take(), ElementsAre("prepare"));
  loop_.Advance(10s);
  EXPECT_THAT(api_.requests(), IsEmpty()) << "no Event";
}

TEST_F(PodRunnerTest, APodWithoutClaimsGoesAtOnce) {
  kube::Pod& pod = view_.AddPod("a");
  pod.claims.clear();
  pod.claim_names.clear();
  pod.meta.deleted = loop_.WallNow();
  Mark();
  EXPECT_THAT(Deleted(), SizeIs(1));
  EXPECT_THAT(driver_.Take(), IsEmpty());
}

// It was taken for "another of its name", and the Pod stayed in Terminating for ever.
TEST_F(PodRunnerTest, ADeletionThatMeetsAConflictIsTriedAgainWhileThePodIsThere) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  status_ = 409;
  Pod().meta.deleted = loop_.WallNow();
  Mark();
  status_ = 200;
  const std::size_t refused = Deleted().size();
  loop_.Advance(30s);
  EXPECT_THAT(Deleted(), SizeIs(refused + 1));
}

TEST_F(PodRunnerTest, AConflictWithAnotherPodOfTheNameIsTheEndOfIt) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  status_ = 409;
  Pod().meta.deleted = loop_.WallNow();
  Mark();
  view_.pods.clear();
  view_.AddPod("a").meta.uid = "another";
  const std::size_t refused = Deleted().size();
  loop_.Advance(5min);
  EXPECT_THAT(Deleted(), SizeIs(refused));
}

TEST_F(PodRunnerTest, APodThatWasRemovedByForceHasItsClaimsLetGoOf) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  view_.pods.clear();
  view_.claims.clear();
  driver_.Take();
  Mark();
  EXPECT_THAT(driver_.Take(), ElementsAre("unprepare"));
  EXPECT_THAT(Deleted(), IsEmpty());
}

TEST_F(PodRunnerTest, APodThatHasEndedHoldsItsDevicesNoLonger) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  Mark();
  driver_.Take();
  Pod().phase = "Failed";
  Mark();
  EXPECT_THAT(driver_.Take(), ElementsAre("unprepare"));
  EXPECT_FALSE(runner_.Runs(Pod()));
  EXPECT_THAT(Deleted(), IsEmpty());
}

TEST_F(PodRunnerTest, WhatTheCheckpointRemembersOfPodsThatAreGoneIsLetGoOf) {
  ClaimRecord& claim = claims_.Add({"default", "old-gpu"}, "uid-old-gpu");
  claim.pods = {"uid-old"};
  claim.drivers = {"gpu.example.com"};
  runner_.Open();
  loop_.Advance(1s);
  EXPECT_THAT(driver_.Take(), ElementsAre("unprepare"));
  EXPECT_THAT(claims_.all(), IsEmpty());
}

TEST_F(PodRunnerTest, APodThatIsStillThereKeepsWhatTheCheckpointRemembers) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", kGpu}}, "a");
  ClaimRecord& claim = claims_.Add({"default", "a-gpu"}, "uid-a-gpu");
  claim.pods = {"uid-a"};
  claim.drivers = {"gpu.example.com"};
  runner_.Open();
  loop_.Advance(1s);
  EXPECT_THAT(driver_.Take(), ElementsAre("prepare"));
}

}  // namespace
}  // namespace galen::agent
