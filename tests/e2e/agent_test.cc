// galen-agent as a process: what it refuses, how it ends, and what it says beside a kubelet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/posix_file_system.h"
#include "base/yaml.h"
#include "cli/session.h"
#include "tests/e2e/sim_cluster.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

// A cluster with one node whose kubelet is simulated, a GPU driver and our agent as observer.
class ObserverTest : public ::testing::Test {
 protected:
  ObserverTest() : cluster_(stage_, {"--node", "node-7"}) {}

  std::vector<std::string> AgentFlags() {
    return {"--node",
            "node-7",
            "--kubeconfig",
            cluster_.kubeconfig(),
            "--kubelet-root",
            stage_.Path("kubelet"),
            "--state-dir",
            stage_.Path("agent"),
            "--socket",
            stage_.Path("agent.sock"),
            "--metrics-address",
            "127.0.0.1:0"};
  }
  // As an operator does first of all: kubectl apply -f deploy/crds.
  void InstallDefinitions() {
    cli::Options options;
    options.cluster.path = cluster_.kubeconfig();
    PosixFileSystem files;
    const auto text = files.Read(GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml");
    ASSERT_TRUE(text.ok());
    const auto session = cli::Session::Open(stage_.loop(), options);
    ASSERT_TRUE(session.ok());
    const auto made =
        (*session)->Fetch(kube::Create(kube::kCustomResourceDefinitions, "", *ParseYaml(*text)));
    ASSERT_TRUE(made.ok()) << ToString(made.status());
  }
  Program& StartAgent() { return stage_.Start("galen-agent", AgentFlags()); }
  Program& StartDriver() {
    return stage_.Start("galen-driver",
                        {"gpu", "--node", "node-7", "--kubeconfig", cluster_.kubeconfig(),
                         "--kubelet-root", stage_.Path("kubelet"), "--cdi-root", stage_.Path("cdi"),
                         "--state-dir", stage_.Path("gpu"), "--metrics-address", "127.0.0.1:0"});
  }
  Outcome Galen(std::vector<std::string> arguments) {
    std::vector<std::string> command = {BuiltProgram("galen"), "--kubeconfig",
                                        cluster_.kubeconfig(), "--agent-socket",
                                        stage_.Path("agent.sock")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return stage_.Run(command);
  }
  // Whether `galen` says `text` when asked this, within a while.
  bool GalenSays(const std::vector<std::string>& arguments, const std::string& text) {
    return stage_.Until([&] { return Galen(arguments).output.find(text) != std::string::npos; });
  }

  Stage stage_;
  SimCluster cluster_;
};

TEST_F(ObserverTest, TellsDevicesByItsObjectAndOverItsSocket) {
  ASSERT_TRUE(cluster_.serves());
  InstallDefinitions();
  StartDriver();
  StartAgent();
  ASSERT_TRUE(GalenSays({"get", "drivers"}, "gpu.example.com"));
  ASSERT_TRUE(GalenSays({"get", "devices"}, "gpu-3"));
  ASSERT_EQ(Galen({"inject", "gpu-3", "xid=79"}).exit_code, 0);
  EXPECT_TRUE(GalenSays({"get", "devices"}, "XidGpuLost"));
  EXPECT_TRUE(GalenSays({"get", "nodes", "-o", "json"}, "\"unhealthy\": 1"));
}

TEST_F(ObserverTest, IsTheOnlyAgentOfItsNodeAndSaysWhoHoldsTheLock) {
  ASSERT_TRUE(cluster_.serves());
  Program& first = StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return stage_.HasFile("agent.sock"); }));
  Program& second = StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return !second.running(); }));
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_THAT(second.Log(), HasSubstr(std::to_string(first.pid())));
  EXPECT_TRUE(first.running());
}

TEST_F(ObserverTest, EndsCleanlyOnSigterm) {
  ASSERT_TRUE(cluster_.serves());
  Program& agent = StartAgent();
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

TEST(Galen, SaysWhereTheApiServerShouldBe) {
  Stage stage;
  const std::string kubeconfig =
      stage.Write("kubeconfig",
                  "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
                  "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1', "
                  "insecure-skip-tls-verify: true}}]\n"
                  "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: "
                  "{token: x}}]\n");
  const Outcome galen =
      stage.Run({BuiltProgram("galen"), "--kubeconfig", kubeconfig, "get", "pods"});
  EXPECT_EQ(galen.exit_code, 1);
  EXPECT_THAT(galen.error, HasSubstr("https://127.0.0.1:1"));
  EXPECT_THAT(galen.error, HasSubstr("--kubeconfig names another"));
}

TEST(Galen, ExitsWithSixtyFourOnAWrongCommandLine) {
  Stage stage;
  EXPECT_EQ(stage.Run({BuiltProgram("galen"), "get", "gadgets"}).exit_code, 64);
  EXPECT_EQ(stage.Run({BuiltProgram("galen"), "--nonsense"}).exit_code, 64);
}

}  // namespace
}  // namespace galen::e2e
