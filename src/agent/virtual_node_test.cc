#include "agent/virtual_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "base/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class VirtualNodeTest : public ::testing::Test {
 protected:
  VirtualNodeTest() {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest&) {
      return kube::FakeTransport::Answer{.status = status_, .body = "{}"};
    });
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
  VirtualNode node_{{loop_, random_, NullLog(), metrics_, client_}, "node-1", "1.2.3"};
};

TEST_F(VirtualNodeTest, RegistersAndSaysThatItIsReady) {
  node_.Start();
  loop_.Advance(100ms);
  EXPECT_TRUE(node_.registered());
  const Json status = Json::Parse(api_.requests().at(1).body).value();
  EXPECT_EQ(status["status"]["conditions"][0]["type"].AsString(), "Ready");
  EXPECT_EQ(status["status"]["conditions"][0]["status"].AsString(), "True");
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
