// Pods whose devices are extended resources, against an API server that knows no name for their
// health: Kubernetes before 1.37.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/holdings/fake_node_view.h"
#include "agent/publish/pod_publisher.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;

const DeviceId kExtendedGpu{"gpu.example.com", "node-1", "gpu-0"};
const std::string kNames[] = {"a", "b", "c"};

class ExtendedPodsTest : public ::testing::Test {
 protected:
  ExtendedPodsTest() {
    metric::Declare(metrics_);
    for (const std::string& name : kNames) {
      const ObjectKey key{"default", name};
      view_.pods[key] = kube::DecodePod(Json::Parse(ObjectOf(name)).value()).value();
      view_.AddClaim(name + "-extended", {{"r-0", kExtendedGpu}}, name);
      index_.PodChanged(key);
    }
    api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
    publisher_.Open();
  }

  static std::string ObjectOf(const std::string& name) {
    return fmt::format(
        R"({{"metadata": {{"name": "{0}", "namespace": "default", "uid": "uid-{0}"}},
        "spec": {{"containers": [{{"name": "train"}}]}},
        "status": {{"containerStatuses": [{{"name": "train"}}], "extendedResourceClaimStatus": {{
          "resourceClaimName": "{0}-extended", "requestMappings": [{{"containerName": "train",
            "resourceName": "example.com/gpu", "requestName": "r-0"}}]}}}}}})",
        name);
  }

  std::optional<kube::FakeTransport::Answer> Answer(const net::HttpRequest& request) {
    const std::string name = request.path.substr(request.path.find("/pods/") + 6, 1);
    if (request.method == "GET") return kube::FakeTransport::Answer{.body = ObjectOf(name)};
    const bool extended = request.body.find("-extended/r-0") != std::string::npos;
    if (extended && !knows_) {
      ++refused_;
      return kube::FakeTransport::Answer{.status = 422, .body = R"({"kind": "Status",
          "status": "Failure", "reason": "Invalid", "code": 422, "message":
          "it is invalid: status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid"})"};
    }
    taken_ += extended ? 1 : 0;
    return kube::FakeTransport::Answer{.body = "{}"};
  }

  void PublishAll() {
    for (const std::string& name : kNames) publisher_.MarkDirty({"default", name});
    loop_.Advance(100ms);
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  Random random_{1};
  Metrics metrics_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  bool knows_ = false;  // the server, of such entries
  int refused_ = 0, taken_ = 0;
  PodPublisher publisher_{
      PodPublisher::Edges{{loop_, random_, log_, metrics_, client_}, view_, index_},
      PodPublisher::Options{.manager = true, .health_of = [](const DeviceId& id) {
                              return DeviceHealth{.id = id, .state = HealthState::kUnhealthy};
                            }}};
};

TEST_F(ExtendedPodsTest, OfThoseThatAreWrittenTogetherNoneIsRefused) {
  PublishAll();
  EXPECT_EQ(publisher_.trouble(), "");
  EXPECT_EQ(refused_, 3) << "all were under way";
  EXPECT_THAT(lines_, SizeIs(1)) << "logged once";
}

TEST_F(ExtendedPodsTest, AServerThatWasAwayIsAskedAgain) {
  PublishAll();
  knows_ = true;
  PublishAll();
  EXPECT_EQ(taken_, 0) << "it is not asked again by itself";
  publisher_.Retry();
  loop_.Advance(100ms);
  EXPECT_EQ(taken_, 3);
}

TEST_F(ExtendedPodsTest, AServerThatIsUpgradedUnseenIsAskedByOnePodNowAndThen) {
  PublishAll();
  loop_.Advance(PodPublisher::kExtendedAgain);
  EXPECT_EQ(refused_, 4) << "three at first, and one that asks again";
  knows_ = true;
  loop_.Advance(PodPublisher::kExtendedAgain);
  EXPECT_EQ(taken_, 3);
  EXPECT_EQ(refused_, 4);
  EXPECT_THAT(lines_, SizeIs(1)) << "logged once";
}

TEST_F(ExtendedPodsTest, WhatIsTakenOfAnotherPodSaysNothingOfThem) {
  const ObjectKey plain{"default", "d"};
  view_.AddPod("d");
  view_.AddClaim("d-gpu", {{"main", kExtendedGpu}}, "d");
  index_.PodChanged(plain);
  PublishAll();
  api_.AnswerBy([this](const net::HttpRequest& request) {
    const bool is_plain = request.path.find("/pods/d") != std::string::npos;
    const bool asks = request.path.find("/pods/a") != std::string::npos;
    if (asks && request.method == "PATCH") {
      return std::optional<kube::FakeTransport::Answer>();  // it takes its time
    }
    if (!is_plain) return Answer(request);
    return std::optional(kube::FakeTransport::Answer{
        .body = request.method == "GET" ? R"({"metadata": {"name": "d", "namespace": "default",
            "uid": "uid-d"}, "spec": {"containers": [{"name": "train"}]}})"
                                        : "{}"});
  });
  publisher_.MarkDirty(plain);
  publisher_.Retry();
  loop_.Advance(100ms);
  EXPECT_EQ(refused_, 3) << "one of the three asks, the others wait for its answer";
}

TEST_F(ExtendedPodsTest, APodThatIsGoneIsNotTheOneThatAsksAgain) {
  PublishAll();
  for (const std::string& name : {kNames[0], kNames[1]}) {
    view_.pods.erase({"default", name});
    publisher_.Forget({"default", name});
  }
  knows_ = true;
  loop_.Advance(PodPublisher::kExtendedAgain);
  EXPECT_EQ(taken_, 1);
}

}  // namespace
}  // namespace galen::agent
