// galen-agent as a process: what it refuses, how it ends, and what it says beside a kubelet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

class ObserverTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fleet_.serves()); }

  FleetStage fleet_;
  Stage& stage_ = fleet_.stage();
};

TEST_F(ObserverTest, TellsDevicesByItsObjectAndOverItsSocket) {
  fleet_.InstallDefinitions();
  fleet_.StartGpuDriver();
  fleet_.StartAgent();
  ASSERT_TRUE(fleet_.GalenSays({"get", "drivers"}, "gpu.example.com"));
  ASSERT_TRUE(fleet_.GalenSays({"get", "devices"}, "gpu-3"));
  ASSERT_EQ(fleet_.Galen({"inject", "gpu-3", "xid=79"}).exit_code, 0);
  EXPECT_TRUE(fleet_.GalenSays({"get", "devices"}, "XidGpuLost"));
  EXPECT_TRUE(fleet_.GalenSays({"get", "nodes", "-o", "json"}, "\"unhealthy\": 1"));
}

TEST_F(ObserverTest, IsTheOnlyAgentOfItsNodeAndSaysWhoHoldsTheLock) {
  Program& first = fleet_.StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return stage_.HasFile("agent.sock"); }));
  Program& second = fleet_.StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return !second.running(); }));
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_THAT(second.Log(), HasSubstr(std::to_string(first.pid())));
  EXPECT_TRUE(first.running());
}

TEST_F(ObserverTest, EndsCleanlyOnSigterm) {
  Program& agent = fleet_.StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return stage_.HasFile("agent.sock"); }));
  agent.Signal(SIGTERM);
  ASSERT_TRUE(stage_.Until([&] { return !agent.running(); }));
  EXPECT_EQ(agent.exit_code(), 0) << agent.Log();
}

TEST(Agent, TellsEveryFaultOfItsConfigurationAtOnceAndStartsNothing) {
  Stage stage;
  const std::string config = stage.Write("agent.yaml", "role: king\ntimeouts: 7\nnoed: x\n");
  const Outcome agent = stage.Run(
      {BuiltProgram("galen-agent"), "--config", config, "--state-dir", stage.Path("state")});
  EXPECT_EQ(agent.exit_code, 64);
  const std::string said = agent.output + agent.error;
  EXPECT_THAT(said, HasSubstr("role"));
  EXPECT_THAT(said, HasSubstr("timeouts"));
  EXPECT_THAT(said, HasSubstr("noed"));
  EXPECT_FALSE(stage.HasFile("state"));
}

TEST(Agent, SaysWhichKubeconfigIsBroken) {
  Stage stage;
  const std::string kubeconfig = stage.Write("kubeconfig", "clusters: [\n");
  const Outcome agent =
      stage.Run({BuiltProgram("galen-agent"), "--node", "n", "--kubeconfig", kubeconfig,
                 "--state-dir", stage.Path("state"), "--socket", stage.Path("a.sock")});
  EXPECT_EQ(agent.exit_code, 64);
  EXPECT_THAT(agent.output + agent.error, HasSubstr(kubeconfig));
}

}  // namespace
}  // namespace galen::e2e
