// The manager that runs containers, as a whole: against the embedded API, with processes that the
// test makes up. What it does without them is in manager_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"
#include "agent/containers/fake_container_processes.h"
#include "api_sim/objects/fake_objects.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ManagerProcessesTest : public ::testing::Test {
 protected:
  // The agent's processes are the fake's.
  ~ManagerProcessesTest() override { node_.app.reset(); }
  void StartAgent() {
    node_.processes = &processes_;
    node_.StartAgent();
  }
  void AddPod(const std::string& name, const std::string& policy = "Always") {
    Json pod = api_sim::FakePod(name);
    pod["spec"]["restartPolicy"] = policy;
    Json& container = pod["spec"]["containers"].MutableItems()[0];
    container["command"] = Json::MakeArray({"train"});
    node_.CreatePod(pod);
    node_.Pass(2s);
  }
  void EndProcess(ProcessEnd end) {
    ASSERT_THAT(processes_.Running(), SizeIs(1));
    processes_.End(processes_.Running().front(), end);
    node_.Pass(500ms);
  }
  std::string Phase(const std::string& pod) {
    return node_.cluster.Pod(pod)["status"]["phase"].AsString();
  }
  Json Status(const std::string& pod) {
    return node_.cluster.Pod(pod)["status"]["containerStatuses"][0];
  }
  std::string Ready(const std::string& pod) {
    const Json object = node_.cluster.Pod(pod);
    for (const Json& condition : object["status"]["conditions"].items()) {
      if (condition["type"].AsString() == "Ready") return condition["status"].AsString();
    }
    return "";
  }

  AgentNode node_{Role::kManager};
  FakeContainerProcesses processes_{node_.cluster.loop(), node_.files};
};

TEST_F(ManagerProcessesTest, APodThatCrashesSaysSoAndIsRestarted) {
  StartAgent();
  AddPod("job");
  EXPECT_EQ(Phase("job"), "Running");
  EXPECT_EQ(Ready("job"), "True");
  EndProcess({.code = 3});
  EndProcess({.code = 3});
  EXPECT_EQ(Status("job")["state"]["waiting"]["reason"].AsString(), "CrashLoopBackOff");
  EXPECT_EQ(Status("job")["lastState"]["terminated"]["exitCode"].AsInt(), 3);
  EXPECT_EQ(Ready("job"), "False");
  node_.Pass(10s);
  EXPECT_TRUE(Status("job")["state"].Has("running"));
  EXPECT_EQ(Status("job")["restartCount"].AsInt(), 2);
  EXPECT_EQ(Ready("job"), "True");
  EXPECT_THAT(node_.Events("job"), Contains("ContainersAreProcesses x1"));
}

TEST_F(ManagerProcessesTest, APodThatRunsIsNotWrittenAgain) {
  StartAgent();
  AddPod("job");
  const auto before = node_.app->api_writes();
  node_.Pass(10min);
  EXPECT_EQ(node_.app->api_writes(), before);
}

TEST_F(ManagerProcessesTest, APodThatEndsWellIsSucceededAndStaysSo) {
  StartAgent();
  AddPod("job", "Never");
  EndProcess({.code = 0});
  EXPECT_EQ(Phase("job"), "Succeeded");
  node_.Pass(1min);
  EXPECT_THAT(processes_.started, SizeIs(1));
  node_.cluster.Delete(kube::kPods, "job", "default");
  node_.Pass(5s);
  EXPECT_TRUE(node_.cluster.Pod("job").is_null());
  EXPECT_THAT(processes_.removed, SizeIs(1));
}

TEST_F(ManagerProcessesTest, APodKeepsItsDeviceUntilItsProcessIsGone) {
  FakePlugin& driver = node_.AddDriver({"gpu-0"});
  ASSERT_TRUE(node_.files.MakeDirectories("/var/run/cdi", 0755).ok());
  const std::string spec = R"({"kind": "gpu.example.com/gpu", "devices": [
    {"name": "gpu-0", "containerEdits": {"env": ["GPU_0=uuid-0"]}}]})";
  ASSERT_TRUE(node_.files.WriteAtomically("/var/run/cdi/gpu.json", spec, 0644).ok());
  StartAgent();
  Json pod = api_sim::WithTemplate(api_sim::FakePod("trainer"), "gpu", "gpu.example.com");
  Json& container = pod["spec"]["containers"].MutableItems()[0];
  container["command"] = Json::MakeArray({"train"});
  container["resources"]["claims"].Append(Json::MakeObject({{"name", "gpu"}}));
  node_.CreatePod(pod);
  node_.Pass(5s);
  ASSERT_THAT(processes_.started, SizeIs(1));
  EXPECT_THAT(processes_.started[0].environment, Contains("GPU_0=uuid-0"));
  EXPECT_EQ(node_.Allocated("trainer"), "claim:gpu gpu.example.com/gpu=gpu-0 Healthy: ");
  node_.cluster.Delete(kube::kPods, "trainer", "default");
  node_.Pass(5s);
  EXPECT_THAT(driver.prepared(), SizeIs(1)) << "its process may still use it";
  EndProcess({.signal = 15});
  node_.Pass(5s);
  EXPECT_THAT(driver.prepared(), IsEmpty());
  EXPECT_TRUE(node_.cluster.Pod("trainer").is_null());
}

TEST_F(ManagerProcessesTest, APodWithoutACommandSaysWhyItWaitsAndCanGo) {
  StartAgent();
  node_.CreatePod(api_sim::FakePod("image"));
  node_.Pass(5s);
  EXPECT_EQ(Status("image")["state"]["waiting"]["reason"].AsString(), "CreateContainerConfigError");
  EXPECT_EQ(Phase("image"), "Pending");
  node_.cluster.Delete(kube::kPods, "image", "default");
  node_.Pass(5s);
  EXPECT_TRUE(node_.cluster.Pod("image").is_null());
}

TEST_F(ManagerProcessesTest, ADeletedPodIsThereUntilItsProcessEnds) {
  StartAgent();
  AddPod("job");
  node_.cluster.Delete(kube::kPods, "job", "default");
  node_.Pass(5s);
  EXPECT_FALSE(node_.cluster.Pod("job").is_null());
  EXPECT_THAT(processes_.TakeSignals(), SizeIs(1));
  EndProcess({.signal = 15});
  node_.Pass(3s);
  EXPECT_TRUE(node_.cluster.Pod("job").is_null());
}

TEST_F(ManagerProcessesTest, ARestartedAgentTakesWhatRanForEndedAndRunsItAgain) {
  processes_.leftovers = 2;
  StartAgent();
  EXPECT_EQ(node_.Logged("processes that an earlier agent left behind were killed"), 1);
  AddPod("job");
  node_.KillAgent();
  EXPECT_THAT(processes_.Running(), IsEmpty()) << "they end with the agent";
  StartAgent();
  node_.Pass(5s);
  EXPECT_TRUE(Status("job")["state"].Has("running"));
  EXPECT_EQ(Status("job")["restartCount"].AsInt(), 1);
  EXPECT_EQ(Status("job")["lastState"]["terminated"]["reason"].AsString(),
            "ContainerStatusUnknown");
}

}  // namespace
}  // namespace galen::agent
