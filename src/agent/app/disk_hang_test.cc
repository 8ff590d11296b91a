// The whole agent on a disk that hangs: what Pods show, and what the agent says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "agent/app/fake_agent_node.h"
#include "agent/containers/fake_container_processes.h"
#include "api_sim/objects/fake_objects.h"
#include "history/post_mortem/post_mortem_store.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/channel.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

namespace wire = galen::inspect::v1;

class DiskHangTest : public ::testing::Test {
 protected:
  DiskHangTest() {
    node_.AddPod("trainer-0");
    node_.StartAgent();
    node_.Pass(5s);
    node_.disk->Hang();
  }

  void LoseGpu() {
    driver_.Report({{.device = "gpu-0", .health = 2, .message = "gone", .code = "XidGpuLost"}});
  }
  std::string Condition() { return node_.Condition("trainer-0"); }

  // The notes and the steps that `galen why` prints of the Pod.
  std::vector<std::string> Why() {
    node_.network.Listen("unix:/agent.sock", node_.app->inspect());
    std::unique_ptr<net::Connection> connection;
    const auto dialling = node_.dialer->Dial(
        {.target = "unix:/agent.sock"}, [&](StatusOr<std::unique_ptr<net::Connection>> dialled) {
          connection = std::move(dialled).value();
        });
    node_.Pass(10ms);
    rpc::Channel channel(node_.cluster.loop(), *connection);
    wire::ExplainRequest request;
    request.set_pod("trainer-0");
    std::vector<std::string> lines;
    const auto call =
        rpc::Unary<wire::ExplainResponse>(channel, "/galen.inspect.v1.Inspect/Explain", request, 1s,
                                          [&](const StatusOr<wire::ExplainResponse>& answer) {
                                            for (const std::string& note : answer->notes())
                                              lines.push_back(note);
                                            for (const wire::Step& step : answer->steps()) {
                                              lines.push_back(step.kind() + ": " + step.text());
                                            }
                                          });
    node_.Pass(10ms);
    node_.network.StopListening("unix:/agent.sock");
    return lines;
  }

  AgentNode node_{Role::kObserver};
  FakePlugin& driver_ = node_.AddDriver({"gpu-0"});
};

TEST_F(DiskHangTest, APodIsWrittenWhenTheJournalHasItsState) {
  LoseGpu();
  node_.Pass(200ms);
  EXPECT_EQ(Condition(), "True AllHealthy");
  node_.disk->GoOn();
  node_.Pass(10ms);
  EXPECT_EQ(Condition(), "False XidGpuLost");
  EXPECT_THAT(node_.app->troubles(), Not(Contains(HasSubstr("journal"))));
}

// Whatever makes the publisher look at the Pod meanwhile.
TEST_F(DiskHangTest, AnotherLookAtThePodShowsNothingThatIsNotKept) {
  LoseGpu();
  node_.Pass(50ms);
  node_.app->Retry();
  node_.Pass(50ms);
  EXPECT_EQ(Condition(), "True AllHealthy");
}

TEST_F(DiskHangTest, APodIsWrittenWithoutTheJournalAfterThePatienceAndTheAgentSaysSo) {
  LoseGpu();
  node_.Pass(300ms);
  EXPECT_EQ(Condition(), "False XidGpuLost");
  EXPECT_TRUE(node_.app->ready());
  const auto trouble = HasSubstr("journal: the disk takes longer than 250 ms");
  EXPECT_THAT(node_.app->troubles(), Contains(trouble));
  EXPECT_THAT(Why(), Contains(trouble));
  EXPECT_EQ(node_.metrics->Value("galen_published_before_kept_total"), 1);

  node_.Pass(60s);
  node_.disk->GoOn();
  node_.Pass(2s);
  EXPECT_THAT(node_.app->troubles(), Not(Contains(HasSubstr("journal"))));
  EXPECT_THAT(Why(), Contains("kept: journal, after it was published"));
  // It is on the disk, too.
  node_.KillAgent();
  node_.StartAgent();
  node_.Pass();
  EXPECT_THAT(Why(), Contains("kept: journal, after it was published"));
}

// The end of a Pod comes during a write, and the agent's own during the next.
TEST_F(DiskHangTest, WhatCameDuringAWriteIsOnTheDiskWhenTheAgentHasStopped) {
  node_.AddPod("trainer-1");
  node_.Pass(2s);
  ASSERT_TRUE(node_.cluster.Do(kube::Delete(kube::kPods, "default", "trainer-0")).ok());
  node_.Pass(2s);
  bool stopped = false;
  node_.app->Stop(5s, [&] { stopped = true; });
  node_.Pass(20ms);
  EXPECT_FALSE(stopped);
  node_.disk->GoOn();
  node_.Pass(100ms);
  EXPECT_TRUE(stopped);
  node_.KillAgent();
  const auto store =
      history::PostMortemStore::Open(node_.files, {.directory = "/var/lib/galen/post-mortem"});
  const auto records = store.value()->All(node_.cluster.loop().WallNow());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].pod.key.name, "trainer-0");
}

TEST_F(DiskHangTest, AnAgentStopsAllTheSame) {
  LoseGpu();
  bool stopped = false;
  node_.app->Stop(5s, [&] { stopped = true; });
  node_.Pass(3s);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(node_.Logged("state is not written"), 1);
}

// The loop went on: the agent still publishes, and the Pod runs when the disk does.
TEST(ManagerDiskHangTest, APodWaitsForTheRecordOfItsClaimsAndTheAgentDoesNot) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0", "gpu-1"});
  const auto phase = [&](const std::string& pod) {
    return node.cluster.Pod(pod)["status"]["phase"].AsString();
  };
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  ASSERT_EQ(phase("trainer-0"), "Running");
  node.disk->Hang();
  node.AddPod("trainer-1");
  driver.Report({{.device = "gpu-0", .health = 2, .message = "gone", .code = "XidGpuLost"}});
  node.Pass(10s);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_NE(phase("trainer-1"), "Running");
  node.disk->GoOn();
  node.Pass(5s);
  EXPECT_EQ(phase("trainer-1"), "Running");
}

// Containers write to the disk, too, and what they write has a queue of its own.
class ContainersDiskHangTest : public ::testing::Test {
 protected:
  ContainersDiskHangTest() {
    node_.processes = &processes_;
    node_.AddPod("trainer-0");
    node_.StartAgent();
    AddWriter("writer-0");
    node_.Pass(5s);
  }
  // The agent's processes are the fake's.
  ~ContainersDiskHangTest() override { node_.app.reset(); }

  void AddWriter(const std::string& name) {
    Json pod = api_sim::FakePod(name);
    pod["spec"]["containers"].MutableItems()[0]["command"] = Json::MakeArray({"write"});
    node_.CreatePod(pod);
  }
  std::string Phase(const std::string& pod) {
    return node_.cluster.Pod(pod)["status"]["phase"].AsString();
  }
  void Write(std::size_t bytes) {
    processes_.Say(processes_.Running().front(), std::string(bytes, 'x'));
  }

  AgentNode node_{Role::kManager};
  FakePlugin& driver_ = node_.AddDriver({"gpu-0"});
  FakeContainerProcesses processes_{node_.cluster.loop(), node_.files};
};

TEST_F(ContainersDiskHangTest, OtherPodsGoOnAndTheOneThatWaitsForItRunsLater) {
  ASSERT_EQ(Phase("writer-0"), "Running");
  node_.disk->Hang();
  node_.container_disk->Hang();
  Write(100'000);
  AddWriter("writer-1");
  driver_.Report({{.device = "gpu-0", .health = 2, .message = "gone", .code = "XidGpuLost"}});
  node_.Pass(10s);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_EQ(Phase("writer-0"), "Running");
  EXPECT_EQ(Phase("writer-1"), "Pending");
  EXPECT_THAT(node_.app->troubles(),
              Contains("containers: default/writer-1 cannot be run: its directory waits for the "
                       "disk, which hangs"));
  node_.disk->GoOn();
  node_.container_disk->GoOn();
  node_.Pass(5s);
  EXPECT_EQ(Phase("writer-1"), "Running");
  EXPECT_THAT(node_.app->troubles(), Not(Contains(HasSubstr("containers: "))));
}

// The journal does not wait behind a container's output.
TEST_F(ContainersDiskHangTest, AContainersSlowWriteDelaysNoChange) {
  node_.container_disk->Hang();
  Write(100'000);
  driver_.Report({{.device = "gpu-0", .health = 2, .message = "gone", .code = "XidGpuLost"}});
  node_.Pass(50ms);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_EQ(node_.metrics->Value("galen_published_before_kept_total"), 0);
}

TEST_F(ContainersDiskHangTest, AnAgentStopsAllTheSame) {
  node_.container_disk->Hang();
  Write(100'000);
  bool stopped = false;
  node_.app->Stop(5s, [&] { stopped = true; });
  node_.Pass(10ms);
  processes_.End(processes_.Running().front(), {.signal = 15});
  node_.Pass(500ms);
  EXPECT_FALSE(stopped) << "the last output is waited for a little";
  node_.Pass(1s);
  EXPECT_TRUE(stopped);
}

TEST_F(ContainersDiskHangTest, TheLastOutputIsWrittenBeforeAnAgentHasStopped) {
  node_.container_disk->Hang();
  Write(100'000);
  Write(100'000);
  bool stopped = false;
  node_.app->Stop(5s, [&] { stopped = true; });
  node_.Pass(10ms);
  processes_.End(processes_.Running().front(), {.signal = 15});
  node_.Pass(100ms);
  node_.container_disk->GoOn();
  node_.Pass(100ms);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(node_.Logged("state is not written"), 0);
}

TEST_F(DiskHangTest, EachProblemIsOneSentenceWithAFullStop) {
  node_.disk->GoOn();
  node_.api.SetDown(true);
  node_.files.FailWrites(ResourceExhausted("no space left on device."));
  LoseGpu();
  node_.Pass(1min);
  const std::vector<std::string> lines = Why();
  std::vector<std::string> problems;
  std::ranges::copy_if(lines, std::back_inserter(problems), [](const std::string& line) {
    return line.starts_with("The agent has a problem: ");
  });
  EXPECT_THAT(problems, Contains(EndsWith("no space left on device.")));
  EXPECT_GE(problems.size(), 2u);
  EXPECT_THAT(problems, Each(AllOf(EndsWith("."), Not(EndsWith("..")))));
}

}  // namespace
}  // namespace galen::agent
