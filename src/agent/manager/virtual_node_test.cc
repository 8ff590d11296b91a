#include "agent/manager/virtual_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "base/architecture.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class VirtualNodeTest : public ::testing::Test {
 protected:
  VirtualNodeTest() {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
  }

  // A server that keeps the Node and its Ready condition.
  kube::FakeTransport::Answer Answer(const net::HttpRequest& request) {
    if (status_ != 200) return {.status = status_, .body = "{}"};
    if (request.path.find("/leases/") != std::string::npos) return {.body = "{}"};
    if (request.method == "POST") {
      taints_ = Json::Parse(request.body).value()["spec"]["taints"].Dump();
      made_ = true;
      return {.status = 201, .body = "{}"};
    }
    if (!made_) return {.status = 404, .body = "{}"};
    if (request.path.find("/status") != std::string::npos) ready_ = "True";
    return {.body = R"({"metadata": {"name": "node-1"}, "status": {"conditions": [
                        {"type": "Ready", "status": ")" +
                    ready_ + R"("}]}})"};
  }
  // How many requests named this.
  int Count(const std::string& part) {
    int count = 0;
    for (const net::HttpRequest& request : api_.requests()) {
      count += request.path.find(part) != std::string::npos;
    }
    return count;
  }

  FakeLoop loop_;
  Random random_{1};
  Metrics metrics_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  int status_ = 200;
  bool made_ = false;
  std::string ready_ = "Unknown";
  std::string taints_;
  VirtualNode node_{{loop_, random_, NullLog(), metrics_, client_}, "node-1", "1.2.3"};
};

TEST_F(VirtualNodeTest, RegistersAndSaysThatItIsReady) {
  node_.Start();
  loop_.Advance(100ms);
  EXPECT_TRUE(node_.registered());
  const Json status = Json::Parse(api_.requests().at(2).body).value();
  EXPECT_EQ(status["status"]["conditions"][0]["type"].AsString(), "Ready");
  EXPECT_EQ(status["status"]["conditions"][0]["status"].AsString(), "True");
  EXPECT_EQ(status["status"]["nodeInfo"]["architecture"].AsString(), kArchitecture)
      << "else the scheduler puts Pods here whose programs cannot run";
  EXPECT_EQ(taints_, R"([{"effect":"NoSchedule","key":"galen.dev/virtual","value":"true"}])");
}

TEST_F(VirtualNodeTest, LeavesTheTaintsOfANodeThatIsThereAlone) {
  made_ = true;
  node_.Start();
  loop_.Advance(1min);
  EXPECT_TRUE(node_.registered());
  for (const net::HttpRequest& request : api_.requests()) {
    EXPECT_THAT(request.body, ::testing::Not(HasSubstr("taints")));
  }
}

TEST_F(VirtualNodeTest, IsReadyAgainAfterTheClusterTookItForLost) {
  node_.Start();
  loop_.Advance(1s);
  ready_ = "Unknown";
  loop_.Advance(VirtualNode::kRenewEvery);
  EXPECT_EQ(ready_, "True");
}

TEST_F(VirtualNodeTest, IsMadeAgainWhenSomebodyRemovedIt) {
  node_.Start();
  loop_.Advance(1s);
  made_ = false;
  ready_ = "";
  loop_.Advance(VirtualNode::kRenewEvery);
  EXPECT_TRUE(made_);
  EXPECT_EQ(ready_, "True");
}

TEST_F(VirtualNodeTest, WritesOnlyItsLeaseWhileAllIsWell) {
  node_.Start();
  loop_.Advance(1s);
  const std::size_t before = api_.requests().size();
  loop_.Advance(5min);
  for (std::size_t i = before; i < api_.requests().size(); ++i) {
    const net::HttpRequest& request = api_.requests()[i];
    if (request.method == "GET") continue;
    EXPECT_THAT(request.path, HasSubstr("/leases/"));
  }
}

TEST_F(VirtualNodeTest, RenewsItsLeaseEveryTenSeconds) {
  node_.Start();
  loop_.Advance(61s);
  EXPECT_EQ(Count("/namespaces/kube-node-lease/leases/node-1"), 7);
  const Json lease = Json::Parse(api_.requests().back().body).value();
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"].AsInt(), VirtualNode::kLeaseSeconds);
  EXPECT_THAT(lease["spec"]["renewTime"].AsString(), HasSubstr("."));
}

TEST_F(VirtualNodeTest, TriesAgainWhileTheServerIsAway) {
  status_ = 503;
  node_.Start();
  loop_.Advance(1min);
  EXPECT_FALSE(node_.registered());
  EXPECT_NE(node_.trouble(), "");
  EXPECT_LE(api_.requests().size(), 20u);
  status_ = 200;
  loop_.Advance(11s);
  EXPECT_TRUE(node_.registered());
  EXPECT_EQ(node_.trouble(), "");
}

TEST_F(VirtualNodeTest, IsRenewedInTimeAfterAShortOutage) {
  node_.Start();
  loop_.Advance(1s);
  status_ = 503;
  loop_.Advance(30s);
  status_ = 200;
  loop_.Advance(10s);
  EXPECT_EQ(node_.trouble(), "") << "within the lease's 40 s";
}

}  // namespace
}  // namespace galen::agent
