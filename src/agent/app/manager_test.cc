// The manager role of the whole agent; the observer's, and what both do, is in agent_app_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"
#include "api_sim/objects/fake_objects.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

FakeReport LostGpu(const std::string& device) {
  return {.device = device,
          .health = 2,
          .message = "XID 79: GPU has fallen off the bus",
          .code = "XidGpuLost"};
}

TEST(Manager, RunsThePodAndListsItsDeviceAsTheKubeletWould) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  EXPECT_EQ(node.cluster.Pod("trainer-0")["status"]["phase"].AsString(), "Running")
      << node.cluster.WhyPending("trainer-0");
  EXPECT_EQ(node.Allocated("trainer-0"), "claim:gpu gpu.example.com/gpu=gpu-0 Healthy: ");
  EXPECT_EQ(driver.notified(), "registered");
  driver.Report({{.device = "gpu-0", .health = 2, .message = "ECC", .code = "EccUncorrectable"}});
  node.Pass(100ms);
  EXPECT_EQ(node.Allocated("trainer-0"), "claim:gpu gpu.example.com/gpu=gpu-0 Unhealthy: ECC");
  EXPECT_THAT(node.app->start_steps(), Contains(StartStep{"node registered", true}));
}

TEST(Manager, IsReadyAgainAfterTheClusterTookItForLost) {
  AgentNode node(Role::kManager);
  node.StartAgent();
  node.Pass(2s);
  const auto ready = [&] {
    const Json object = node.cluster.Get(kube::kNodes, "node-1");
    for (const Json& condition : object["status"]["conditions"].items()) {
      if (condition["type"].AsString() == "Ready") return condition["status"].AsString();
    }
    return std::string();
  };
  ASSERT_EQ(ready(), "True");
  const Json lost = api_sim::Yaml(
      "{status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown}]}}");
  ASSERT_TRUE(node.cluster
                  .Do(kube::Patch(kube::kNodes, "", "node-1", kube::PatchType::kStrategic, lost,
                                  {.subresource = "status"}))
                  .ok());
  ASSERT_EQ(ready(), "Unknown");
  node.Pass(15s);
  EXPECT_EQ(ready(), "True");
  node.cluster.Delete(kube::kNodes, "node-1", "", 0);
  node.Pass(15s);
  EXPECT_EQ(ready(), "True") << "registered again";
}

TEST(Manager, RunsAPodWithoutClaimsToo) {
  AgentNode node(Role::kManager);
  node.StartAgent();
  node.CreatePod(api_sim::FakePod("web-0"));
  node.Pass(5s);
  EXPECT_EQ(node.cluster.Pod("web-0")["status"]["phase"].AsString(), "Running");
  node.cluster.Delete(kube::kPods, "web-0", "default");
  node.Pass(5s);
  EXPECT_TRUE(node.cluster.Pod("web-0").is_null());
}

TEST(Manager, LetsGoOfTheClaimAndThenOfThePod) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  ASSERT_EQ(driver.prepared().size(), 1u);
  node.cluster.Delete(kube::kPods, "trainer-0", "default");
  node.Pass(5s);
  EXPECT_THAT(driver.prepared(), IsEmpty());
  EXPECT_TRUE(node.cluster.Pod("trainer-0").is_null());
  node.AddPod("trainer-1");
  node.Pass(5s);
  EXPECT_EQ(node.cluster.Pod("trainer-1")["status"]["phase"].AsString(), "Running")
      << "the device is free again";
}

// It hung in Terminating, and only the agent's log knew why.
TEST(Manager, APodWhoseDriverIsAwaySaysWhyItStaysAndGoesWithTheDriversReturn) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  driver.Kill();
  node.Pass(1s);
  node.cluster.Delete(kube::kPods, "trainer-0", "default");
  node.Pass(3min);
  ASSERT_FALSE(node.cluster.Pod("trainer-0").is_null());
  EXPECT_THAT(node.Events("trainer-0"), Contains("FailedUnprepareDynamicResources x1"));
  EXPECT_THAT(node.app->troubles(),
              Contains("pods: claims of Pod default/trainer-0 cannot be unprepared: driver "
                       "gpu.example.com: not connected on this node"));
  driver.Start();
  // As long as the agent's own look for the driver takes, and not half a minute more.
  for (int i = 0; i < 60 && node.Logged("driver connected") < 2; ++i) node.Pass(1s);
  node.Pass(100ms);
  EXPECT_TRUE(node.cluster.Pod("trainer-0").is_null());
  EXPECT_THAT(node.app->troubles(), Not(Contains(StartsWith("pods:"))));
}

// The old instance still answers while the new one, which can do it, stands beside it.
TEST(Manager, ANewInstanceBesideAnOldOneIsAskedAtOnceWhatTheOldOneCouldNot) {
  AgentNode node(Role::kManager);
  FakePlugin& old = node.AddDriver({"gpu-0"});
  old.FailPrepare("out of order");
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5min);
  ASSERT_NE(node.cluster.Pod("trainer-0")["status"]["phase"].AsString(), "Running");
  const int calls = old.prepare_calls();
  FakePlugin next(node.cluster.loop(), node.network, node.registry,
                  {.socket = "/var/lib/kubelet/plugins_registry/gpu.example.com-next-reg.sock",
                   .endpoint = "/var/lib/kubelet/plugins/gpu.example.com/next.sock"});
  next.Report({{.device = "gpu-0"}});
  next.PrepareAs({"gpu-0"});
  next.Start();
  for (int i = 0; i < 600 && next.streams() == 0; ++i) node.Pass(100ms);
  node.Pass(200ms);
  EXPECT_EQ(next.prepare_calls(), 1);
  EXPECT_EQ(old.prepare_calls(), calls);
  EXPECT_EQ(node.cluster.Pod("trainer-0")["status"]["phase"].AsString(), "Running");
}

TEST(Manager, ShowsAFaultOnARestartedAgentsPodsAsBefore) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  driver.Report({LostGpu("gpu-0")});
  node.Pass(2s);
  const std::string before = node.Allocated("trainer-0");
  const std::string annotation = node.Annotation("trainer-0");
  node.KillAgent();
  node.Pass(10s);
  node.StartAgent();
  node.Pass(1s);
  EXPECT_EQ(node.Allocated("trainer-0"), before) << "under the id that the driver gave it";
  EXPECT_EQ(node.Annotation("trainer-0"), annotation);
}

TEST(Manager, LetsGoAfterARestartOfWhatVanishedMeanwhile) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  node.KillAgent();
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(10s);
  ASSERT_EQ(driver.prepared().size(), 1u);
  node.StartAgent();
  node.Pass(5s);
  EXPECT_THAT(driver.prepared(), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
