#include "agent/app/change_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/health/fake_change_log.h"
#include "agent/holdings/fake_node_view.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const ObjectKey kTrainer{"default", "a"};
const DeviceId kTrainersGpu{"gpu.example.com", "node-1", "gpu-0"};

// All that the router calls, and an API that takes every write and whose requests are counted.
class ChangeRouterTest : public ::testing::Test {
 protected:
  ChangeRouterTest() {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest& request) {
      if (request.method == "PATCH") patched_.push_back(request.path);
      return kube::FakeTransport::Answer{.body = "{}"};
    });
    post_mortems_.Start({});
    router_.Start();
  }

  // The Pod of name "a", with or without the claim of its GPU, as an informer brings it.
  void PodAppears(bool with_claim = true) {
    kube::Pod& pod = view_.AddPod("a");
    pod.statuses = {{.name = "train", .running = true}};
    if (with_claim) view_.AddClaim("a-gpu", {{"main", kTrainersGpu}}, "a");
    router_.OnPod(kTrainer, nullptr, &pod);
  }
  void PodBecomes(const std::function<void(kube::Pod&)>& change) {
    kube::Pod& pod = view_.pods.at(kTrainer);
    const kube::Pod before = pod;
    change(pod);
    router_.OnPod(kTrainer, &before, &pod);
  }
  void PodGoes() {
    const kube::Pod before = view_.pods.extract(kTrainer).mapped();
    router_.OnPod(kTrainer, &before, nullptr);
  }
  void DeviceTurns(HealthState state) { DeviceTurns(state, loop_.WallNow()); }
  void DeviceTurns(HealthState state, WallTime since) {
    const DeviceHealth before = health_;
    health_ = {.id = kTrainersGpu, .state = state, .cause = {.code = "X"}, .since = since};
    router_.OnChanges({{before, health_}});
  }
  void PodCrashes() {
    PodBecomes([this](kube::Pod& pod) {
      pod.phase = "Failed";
      pod.statuses = {{.name = "train", .exit_code = 134, .finished = loop_.WallNow()}};
    });
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  ClockSteps clock_{loop_};
  Random random_{1};
  Metrics metrics_;
  FakeFileSystem files_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  FakeChangeLog journal_;
  DeviceHealth health_{.id = kTrainersGpu, .state = HealthState::kHealthy};
  std::vector<std::string> patched_;  // paths
  int devices_changed_ = 0;
  const HealthOf health_of_ = [this](const DeviceId&) { return health_; };
  HealthKeeper keeper_{{loop_, log_, metrics_, journal_}, {}, [](const auto&) {}};
  ClaimIndex claims_{view_, prepared_};
  KubeletHealth kubelet_{
      {loop_, view_, claims_, keeper_, keeper_}, {}, [](const std::string&) { return true; }};
  EventPublisher events_{{loop_, random_, log_, metrics_, client_}, "node-1"};
  std::unique_ptr<history::Store> store_ =
      history::Store::Open(files_, {.directory = "/journal"}).value();
  std::unique_ptr<history::PostMortemStore> records_ =
      history::PostMortemStore::Open(files_, {.directory = "/post-mortem"}).value();
  PostMortemKeeper post_mortems_{
      {.loop = loop_,
       .log = log_,
       .clock = clock_,
       .store = *records_,
       .journal = *store_,
       .claims = claims_,
       .view = view_,
       .node = "node-1",
       .unseen_since = [] { return std::optional<WallTime>(); },
       .health_of = health_of_,
       .identity_of = [](const DeviceId& id) { return DeviceIdentity{id}; },
       .publish_event = [](const PodRef&, const std::string&, const EventText&, const auto&) {},
       .on_notable = [] {}}};
  PodPublisher publisher_{{{loop_, random_, log_, metrics_, client_}, view_, claims_},
                          {.health_of = health_of_, .set_back = [this] {
                             clock_.Look();
                             return clock_.set_back();
                           }}};
  NodePublisher node_{{loop_, random_, log_, metrics_, client_}, "node-1", [](const auto&) {
                        return kube::NodeDeviceHealth{};
                      }};
  ChangeRouter router_{{.loop = loop_,
                        .log = log_,
                        .clock = clock_,
                        .view = view_,
                        .claims = claims_,
                        .keeper = keeper_,
                        .journal = journal_,
                        .kubelet = kubelet_,
                        .events = events_,
                        .post_mortems = post_mortems_,
                        .publisher = publisher_,
                        .node = node_,
                        .health_of = health_of_,
                        .drivers = [] { return std::vector<DriverInfo>(); },
                        .on_devices_changed = [this] { ++devices_changed_; }}};
};

TEST_F(ChangeRouterTest, WhatChangesBeforeTheListsAreKnownIsPublishedOnceTheyAre) {
  PodAppears();
  DeviceTurns(HealthState::kUnhealthy);
  loop_.Advance(1s);
  EXPECT_THAT(patched_, IsEmpty());
  router_.OnSynced();
  loop_.Advance(1s);
  EXPECT_THAT(patched_, Contains(HasSubstr("/pods/a/status")));
}

TEST_F(ChangeRouterTest, ADeviceThatIsNewToAPodIsRecordedOnceAndAnEndedOneHasNoNews) {
  router_.OnSynced();
  PodAppears();
  EXPECT_THAT(journal_.Take(), ElementsAre("assigned gpu-0"));
  PodBecomes([](kube::Pod& pod) { pod.devices_annotation = "gpu-0 Healthy"; });
  EXPECT_THAT(journal_.Take(), IsEmpty());
  PodGoes();
  PodAppears();
  EXPECT_THAT(journal_.Take(), ElementsAre("assigned gpu-0")) << "it is another Pod";
}

TEST_F(ChangeRouterTest, APodWhoseStatusAnAgentBeforeWroteIsNoNews) {
  kube::Pod& pod = view_.AddPod("a");
  pod.conditions = {{.type = std::string(kube::kDevicesCondition), .status = "True"}};
  view_.AddClaim("a-gpu", {{"main", kTrainersGpu}}, "a");
  router_.OnPod(kTrainer, nullptr, &pod);
  EXPECT_THAT(journal_.Take(), IsEmpty());
}

TEST_F(ChangeRouterTest, ACrashOfAPodWithDevicesIsRecorded) {
  router_.OnSynced();
  PodAppears(/*with_claim=*/false);
  PodCrashes();
  EXPECT_THAT(journal_.entries, Not(Contains(HasSubstr("crashed"))));
  PodGoes();
  PodAppears();
  PodCrashes();
  EXPECT_THAT(journal_.entries, Contains(HasSubstr("crashed container train")));
}

TEST_F(ChangeRouterTest, OnlyPodsThatHoldDevicesChangeTheNodesObject) {
  PodAppears(/*with_claim=*/false);
  EXPECT_EQ(devices_changed_, 0);
  view_.AddClaim("a-gpu", {{"main", kTrainersGpu}}, "a");
  router_.OnClaim({"default", "a-gpu"});
  EXPECT_EQ(devices_changed_, 1);
  PodGoes();
  EXPECT_EQ(devices_changed_, 2) << "it held one until now";
}

TEST_F(ChangeRouterTest, AClaimThatNoPodNamesIsNothing) {
  view_.AddClaim("b-gpu", {{"main", kTrainersGpu}}, "b");
  router_.OnClaim({"default", "b-gpu"});
  EXPECT_EQ(devices_changed_, 0);
}

TEST_F(ChangeRouterTest, AnEndedPodTakesFaultsForAWhileAndNothingElse) {
  router_.OnSynced();
  PodAppears();
  loop_.Advance(1s);
  const WallTime end = loop_.WallNow();
  PodCrashes();
  loop_.Advance(1s);
  patched_.clear();
  DeviceTurns(HealthState::kUnknown);
  loop_.Advance(1s);
  EXPECT_THAT(patched_, Not(Contains(HasSubstr("/pods/"))));
  DeviceTurns(HealthState::kUnhealthy, end + kSeenWithin);
  loop_.Advance(1s);
  EXPECT_THAT(patched_, Not(Contains(HasSubstr("/pods/")))) << "of the time after its end";
  DeviceTurns(HealthState::kUnhealthy, end);
  loop_.Advance(1s);
  EXPECT_THAT(patched_, Contains(HasSubstr("/pods/a/status")));
  loop_.Advance(ChangeRouter::kLateFaults);
  EXPECT_THAT(claims_.PodsToNotify(kTrainersGpu), IsEmpty());
}

// What is dated in between looks as if it were before the end, once the clock has passed that
// again.
TEST_F(ChangeRouterTest, AFaultAfterTheClockWasSetBackIsNotOfAPodThatEndedBefore) {
  router_.OnSynced();
  PodAppears();
  loop_.Advance(1s);
  const WallTime end = loop_.WallNow();
  PodCrashes();
  loop_.Advance(1s);
  loop_.StepWallClock(-2min);
  loop_.Advance(1min);
  DeviceTurns(HealthState::kUnhealthy);
  loop_.Advance(90s);
  ASSERT_GT(loop_.WallNow(), end);
  PodBecomes([](kube::Pod& pod) { pod.meta.owners = {{.uid = "touched"}}; });
  DeviceTurns(HealthState::kHealthy);
  DeviceTurns(HealthState::kUnhealthy, end - 30s);
  loop_.Advance(1s);
  for (const net::HttpRequest& request : api_.requests()) {
    EXPECT_THAT(request.body, Not(HasSubstr("Unhealthy"))) << request.path;
  }
}

TEST_F(ChangeRouterTest, WhatWaitsForAPodIsNotForItsSuccessor) {
  router_.OnSynced();
  PodAppears();
  loop_.Advance(1s);
  api_.AnswerBy([](const net::HttpRequest&) { return kube::FakeTransport::Answer{.status = 403}; });
  DeviceTurns(HealthState::kUnhealthy);
  loop_.Advance(1s);
  EXPECT_THAT(publisher_.trouble(), HasSubstr("default/a"));
  PodBecomes([](kube::Pod& pod) { pod.meta.uid = "another"; });
  EXPECT_EQ(publisher_.trouble(), "");
}

TEST_F(ChangeRouterTest, TheNodesObjectIsWrittenWithoutListsAfterAWhile) {
  router_.OnDevicesChanged();
  loop_.Advance(ChangeRouter::kSyncPatience - 1s);
  EXPECT_THAT(api_.requests(), IsEmpty());
  loop_.Advance(5s);
  EXPECT_THAT(api_.requests(), Not(IsEmpty()));
}

TEST_F(ChangeRouterTest, NewsOfAnEndedPodDoesNotKeepItsDevicesLonger) {
  router_.OnSynced();
  PodAppears();
  PodCrashes();
  loop_.Advance(ChangeRouter::kLateFaults - 1s);
  PodBecomes([](kube::Pod& pod) { pod.devices_annotation = "gpu-0 Healthy"; });
  loop_.Advance(2s);
  EXPECT_THAT(claims_.PodsToNotify(kTrainersGpu), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
