// The NodeDeviceHealth object as the whole agent keeps it, against an API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDefinitionFile = GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml";

FakeReport LostSince(const std::string& device) {
  return {.device = device, .health = 2, .message = "XID 79", .code = "XidGpuLost"};
}

TEST(NodeObject, WritesTheNodesObjectToo) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0", "gpu-1"});
  node.DefineNodeDeviceHealth(kDefinitionFile);
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(2s);
  driver.Report({LostSince("gpu-0"), {.device = "gpu-1"}});
  node.Pass(2s);
  const Json status = node.NodeHealth();
  EXPECT_EQ(status["summary"]["devices"].AsInt(), 2);
  EXPECT_EQ(status["summary"]["unhealthy"].AsInt(), 1);
  EXPECT_EQ(status["devices"][0]["device"].AsString(), "gpu-0");
  EXPECT_EQ(status["devices"][0]["cause"]["code"].AsString(), "XidGpuLost");
}

TEST(NodeObject, ADriversLongTextsKeepNobodysObjectFromBeingWritten) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0", "gpu-1"});
  node.DefineNodeDeviceHealth(kDefinitionFile);
  node.StartAgent();
  node.Pass(2s);
  const std::string text(1024, 'x');
  driver.Report({{.device = "gpu-0",
                  .health = 2,
                  .message = text,
                  .code = text,
                  .serial = text,
                  .model = text},
                 LostSince("gpu-1")});
  node.Pass(2s);
  EXPECT_THAT(node.app->troubles(), IsEmpty());
  EXPECT_EQ(node.NodeHealth()["summary"]["unhealthy"].AsInt(), 2);
  EXPECT_EQ(node.NodeHealth()["devices"][0]["cause"]["message"].AsString().size(),
            kCauseMessageBytesMax);
}

TEST(NodeObject, TheNodesObjectIsWrittenWhileADriverIsUpdated) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.DefineNodeDeviceHealth(kDefinitionFile);
  node.StartAgent();
  node.Pass(2s);
  FakePlugin::Options second;
  second.socket = "/var/lib/kubelet/plugins_registry/gpu.example.com-2-reg.sock";
  second.endpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra-2.sock";
  FakePlugin& update = node.AddDriver({"gpu-0"}, second);
  update.Report({LostSince("gpu-0")});
  node.Pass(2s);
  EXPECT_EQ(node.NodeHealth()["drivers"].items().size(), 1u);
  EXPECT_EQ(node.NodeHealth()["drivers"][0]["endpoint"].AsString(), second.endpoint);
  EXPECT_EQ(node.NodeHealth()["summary"]["unhealthy"].AsInt(), 1);
}

TEST(NodeObject, MakesTheNodesObjectAgainWhenSomebodyRemovesIt) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.DefineNodeDeviceHealth(kDefinitionFile);
  node.StartAgent();
  node.Pass(2s);
  node.cluster.Delete(kube::kNodeDeviceHealths, "node-1", "");
  node.Pass(2s);
  EXPECT_EQ(node.NodeHealth()["summary"]["devices"].AsInt(), 1);
}

TEST(NodeObject, SaysWithItsLastWriteThatNobodyLooksAnyMore) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.DefineNodeDeviceHealth(kDefinitionFile);
  node.StartAgent();
  node.Pass(2s);
  const auto ready = [&] {
    const Json condition = node.NodeHealth()["conditions"][0];
    return condition["status"].AsString() + " " + condition["reason"].AsString();
  };
  ASSERT_EQ(ready(), "True Running");
  bool stopped = false;
  node.app->Stop(5s, [&] { stopped = true; });
  node.Pass(100ms);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(ready(), "False AgentStopped");
  node.KillAgent();
  node.StartAgent();
  node.Pass(2s);
  EXPECT_EQ(ready(), "True Running");
}

TEST(NodeObject, ForgetsADeviceThatLeftTheNode) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  driver.Report({{.device = "gpu-0"}, {.device = "gpu-9"}});  // gpu-9 is in no slice
  node.DefineNodeDeviceHealth(kDefinitionFile);
  node.StartAgent();
  node.Pass(2s);
  ASSERT_EQ(node.NodeHealth()["summary"]["devices"].AsInt(), 2);
  for (int i = 0; i < 60; ++i) {
    driver.Report({{.device = "gpu-0"}});
    node.Pass(10s);
  }
  EXPECT_EQ(node.NodeHealth()["summary"]["devices"].AsInt(), 1);
  EXPECT_THAT(node.metrics->Text(), ::testing::Not(HasSubstr("gpu-9")));
  node.KillAgent();
  node.StartAgent();
  node.Pass(2s);
  EXPECT_EQ(node.NodeHealth()["summary"]["devices"].AsInt(), 1) << "nor does the journal know it";
}

}  // namespace
}  // namespace galen::agent
