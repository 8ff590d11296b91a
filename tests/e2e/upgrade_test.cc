// Programs of an earlier release beside those of this build and in their place, each a real
// process: what the one wrote, published and prepared, the other goes on with, in both directions.
// `./dev upgrade` builds the earlier release from its sources and runs these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/environment.h"
#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

// The directory of the earlier release's programs.
std::string Earlier() { return Lookup(ReadEnvironment(), "GALEN_EARLIER_PROGRAMS").value_or(""); }

class WithEarlierPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(Earlier() + "/galen-agent"))
        << "GALEN_EARLIER_PROGRAMS names no directory of programs; run ./dev upgrade";
  }
};

class Upgrade : public WithEarlierPrograms {
 protected:
  // The agent ends by the signal, and one of these programs follows.
  void Replace(const std::string& programs, int signal) {
    node_.End(node_.agent(), signal);
    node_.Programs(programs);
    node_.StartAgent();
  }

  // The Pod says what it said, its device is as it was since then, and no step came to it.
  void ExpectAsBefore() {
    node_.ExpectWhy(kTrainer, {"gpu-0   Unhealthy since "});
    EXPECT_EQ(node_.LineOf(kTrainer), line_);
    EXPECT_EQ(node_.SinceOf(kTrainer), since_);
    EXPECT_EQ(node_.Steps(kTrainer, "change"), changes_);
    node_.ExpectBystanderUntouched();
  }

  void BreakGpu() {
    since_ = node_.LoseGpu();
    node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
    line_ = node_.LineOf(kTrainer);
    changes_ = node_.Steps(kTrainer, "change");
  }

  void MendGpu() {
    const Outcome mended = node_.Galen({"inject", "gpu-0", "reset", "--driver-socket",
                                        node_.Path("kubelet/plugins/gpu.example.com/dra.sock")});
    ASSERT_EQ(mended.exit_code, 0) << mended.error;
    node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  }

  // Names and contents of the files by which containers get their devices.
  std::map<std::string, std::string> CdiFiles() {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(node_.Path("cdi"))) {
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files[entry.path().filename()] = text.str();
    }
    return files;
  }

  FaultStage node_;
  std::string since_, line_;
  std::vector<std::string> changes_;
};

TEST_F(Upgrade, OfTheAgentGoesOnWithStatesTimesAndClaimsOfTheEarlierOne) {
  node_.Programs(Earlier());
  ASSERT_TRUE(node_.Up());
  BreakGpu();
  const auto prepared = CdiFiles();
  EXPECT_FALSE(prepared.empty());
  Replace("", SIGTERM);
  ExpectAsBefore();
  EXPECT_EQ(CdiFiles(), prepared);
  MendGpu();
}

TEST_F(Upgrade, OfAnAgentThatWasKilledGoesOnLikewise) {
  node_.Programs(Earlier());
  ASSERT_TRUE(node_.Up());
  BreakGpu();
  Replace("", SIGKILL);
  ExpectAsBefore();
  MendGpu();
}

TEST_F(Upgrade, KeepsTheRecordsOfPodsThatEndedBefore) {
  node_.Programs(Earlier());
  ASSERT_TRUE(node_.Up());
  BreakGpu();
  const auto gone = node_.fleet().session().Fetch(
      kube::Delete(kube::kPods, "default", kTrainer, {.grace_seconds = 0}));
  ASSERT_TRUE(gone.ok()) << ToString(gone.status());
  ASSERT_TRUE(node_.fleet().GalenSays({"post-mortem"}, kTrainer));
  Replace("", SIGKILL);
  EXPECT_TRUE(node_.fleet().GalenSays({"post-mortem", kTrainer}, "XID 79"));
  node_.ExpectBystanderUntouched();
}

TEST_F(Upgrade, ThatIsTakenBackLosesNothingAndMayBeMadeAgain) {
  ASSERT_TRUE(node_.Up());
  BreakGpu();
  const auto prepared = CdiFiles();
  Replace(Earlier(), SIGTERM);
  ExpectAsBefore();
  Replace("", SIGTERM);
  ExpectAsBefore();
  EXPECT_EQ(CdiFiles(), prepared);
  MendGpu();
}

TEST_F(Upgrade, OfTheDriverWithTwoInstancesIsSeenByNoPodInEitherDirection) {
  node_.Programs(Earlier());
  node_.DriverFlags({"--instance", "first"});
  ASSERT_TRUE(node_.Up());
  since_ = node_.LoseGpu("dra-first.sock");
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  line_ = node_.LineOf(kTrainer);
  changes_ = node_.Steps(kTrainer, "change");
  const auto prepared = CdiFiles();
  std::string last = "first";
  for (const auto& [instance, programs] :
       {std::pair<std::string, std::string>{"second", ""}, {"third", Earlier()}}) {
    Program& before = node_.driver();
    node_.Programs(programs);
    node_.DriverFlags({"--instance", instance});
    node_.StartDriver();
    const auto registered = [&](const std::string& name) {
      const std::string drivers = node_.Galen({"get", "drivers", "-o", "json"}).output;
      return drivers.find("dra-" + name + ".sock") != std::string::npos;
    };
    EXPECT_TRUE(node_.stage().Until([&] { return registered(instance); })) << instance;
    node_.End(before, SIGTERM);
    EXPECT_TRUE(node_.stage().Until([&] { return !registered(last); })) << last;
    ExpectAsBefore();
    EXPECT_EQ(CdiFiles(), prepared);
    last = instance;
  }
}

// While a DaemonSet is rolled out: each agent has its node, all write to one API, and people ask
// both with the `galen` that they have.
class TwoReleases : public WithEarlierPrograms {
 protected:
  struct Node {
    std::string name, programs;
  };

  void StartNode(const Node& node) {
    const std::string root = stage().Path(node.name);
    std::filesystem::create_directory(root);
    const std::string directory = node.programs.empty()
                                      ? std::filesystem::path(BuiltProgram("x")).parent_path()
                                      : std::filesystem::path(node.programs);
    stage().Start(directory + "/galen-driver",
                  {"gpu", "--devices", "1", "--node", node.name, "--kubeconfig", kubeconfig(),
                   "--kubelet-root", root + "/kubelet", "--cdi-root", root + "/cdi",
                   "--metrics-address", "127.0.0.1:0", "--poll", "200ms"});
    stage().Start(directory + "/galen-agent",
                  {"--role", "manager", "--node", node.name, "--kubeconfig", kubeconfig(),
                   "--kubelet-root", root + "/kubelet", "--state-dir", root + "/agent", "--socket",
                   root + "/agent.sock", "--metrics-address", "127.0.0.1:0"});
  }

  Outcome Ask(const std::string& programs, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {
        programs.empty() ? BuiltProgram("galen") : programs + "/galen", "--kubeconfig",
        kubeconfig()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return stage().Run(command);
  }

  Stage& stage() { return fleet_.stage(); }
  const std::string& kubeconfig() { return fleet_.cluster().kubeconfig(); }

  FleetStage fleet_{{"--virtual-node", "node-7", "--virtual-node", "node-8"}};
};

TEST_F(TwoReleases, SideBySideEachSayOfTheirOwnNodeWhatIsSoAndBothCommandsReadBoth) {
  ASSERT_TRUE(fleet_.serves());
  fleet_.InstallDefinitions();
  StartNode({"node-7", Earlier()});
  StartNode({"node-8", ""});
  for (const std::string& programs : {Earlier(), std::string()}) {
    EXPECT_TRUE(stage().Until([&] {
      return Count(Ask(programs, {"get", "devices"}).output, " Healthy ") == 2;
    })) << programs
        << Ask(programs, {"get", "devices"}).output;
  }
  for (const std::string node : {"node-7", "node-8"}) {
    const std::string root = stage().Path(node);
    const Outcome injected =
        Ask("", {"--agent-socket", root + "/agent.sock", "inject", "gpu-0", "xid=79",
                 "--driver-socket", root + "/kubelet/plugins/gpu.example.com/dra.sock"});
    EXPECT_EQ(injected.exit_code, 0) << injected.error;
  }
  for (const std::string& programs : {Earlier(), std::string()}) {
    EXPECT_TRUE(stage().Until([&] {
      return Count(Ask(programs, {"get", "devices"}).output, "XidGpuLost") == 2;
    })) << programs
        << Ask(programs, {"get", "devices"}).output;
    for (const std::string node : {"node-7", "node-8"}) {
      const Outcome drivers =
          Ask(programs, {"--agent-socket", stage().Path(node) + "/agent.sock", "get", "drivers"});
      EXPECT_EQ(drivers.exit_code, 0) << drivers.error;
      EXPECT_THAT(drivers.output, HasSubstr("gpu.example.com")) << programs;
    }
  }
}

}  // namespace
}  // namespace galen::e2e
