// `galen` as a process: what its exit codes mean, what it does with an odd world, and completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml.h"
#include "cli/embedded.h"
#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(galen.error, HasSubstr("Is it running? --kubeconfig names another.\n"));
}

TEST(Galen, ExitsWithSixtyFourOnAWrongCommandLine) {
  Stage stage;
  EXPECT_EQ(stage.Run({BuiltProgram("galen"), "get", "gadgets"}).exit_code, 64);
  EXPECT_EQ(stage.Run({BuiltProgram("galen"), "--nonsense"}).exit_code, 64);
  EXPECT_EQ(stage.Run({BuiltProgram("galen"), "-o", "yaml", "watch"}).exit_code, 64);
}

TEST(Galen, ExitsWithOneOnWhatAServerFindsWrong) {
  FleetStage fleet(kEmptyCluster);
  ASSERT_TRUE(fleet.serves());
  const Outcome why = fleet.Galen({"why", "a,spec.nonsense=b"});
  EXPECT_EQ(why.exit_code, 1) << why.error;
  EXPECT_THAT(why.error, HasSubstr("spec.nonsense"));
}

TEST(Galen, SaysThatItsOutputDidNotGo) {
  FleetStage fleet(kEmptyCluster);
  ASSERT_TRUE(fleet.serves());
  const Outcome full =
      fleet.stage().Run({"/bin/sh", "-c",
                         "exec " + BuiltProgram("galen") + " --kubeconfig " +
                             fleet.cluster().kubeconfig() + " get devices > /dev/full"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.error, HasSubstr("No space left"));
}

TEST(Galen, TellsItsVersionInTheFormatThatIsAskedFor) {
  Stage stage;
  const auto yaml = ParseYaml(stage.Run({BuiltProgram("galen"), "-o", "yaml", "version"}).output);
  const Outcome json = stage.Run({BuiltProgram("galen"), "-o", "json", "version"});
  ASSERT_TRUE(yaml.ok());
  EXPECT_EQ((*yaml)["version"], (*Json::Parse(json.output))["version"]);
  EXPECT_THAT(stage.Run({BuiltProgram("galen"), "-o", "yaml", "version"}).output,
              Not(HasSubstr("{")));
}

// As a node leaves them whose power went: all healthy, for ever.
TEST(Galen, CallsNoDeviceOfADeadNodeHealthy) {
  FleetStage fleet(kEmptyCluster);
  ASSERT_TRUE(fleet.serves());
  fleet.InstallDefinitions();
  fleet.Create(kube::kNodes, "", "{metadata: {name: node-7}}");
  fleet.Create(kube::kLeases, "kube-node-lease",
               "{metadata: {name: node-7}, spec: {holderIdentity: node-7, "
               "leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z'}}");
  fleet.Create(kube::kNodeDeviceHealths, "", "{metadata: {name: node-7}}");
  const Json status = *ParseYaml(R"({apiVersion: galen.dev/v1alpha1, kind: NodeDeviceHealth,
      metadata: {name: node-7}, status: {
      summary: {devices: 1, healthy: 1, degraded: 0, unhealthy: 0, unknown: 0},
      devices: [{driver: gpu.example.com, pool: node-7, device: gpu-0, state: Healthy}]}})");
  ASSERT_TRUE(fleet.session()
                  .Fetch(kube::Patch(
                      kube::kNodeDeviceHealths, "", "node-7", kube::PatchType::kApply, status,
                      {.subresource = "status", .field_manager = "t", .force = true}))
                  .ok());
  const Outcome devices = fleet.Galen({"get", "devices"});
  EXPECT_THAT(devices.output, AllOf(HasSubstr("Unknown"), HasSubstr("AgentGone"),
                                    HasSubstr("2026-01-01"), HasSubstr("last known as Healthy")));
  const auto nodes = Json::Parse(fleet.Galen({"-o", "json", "get", "nodes"}).output);
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ((*nodes)["items"][0]["status"]["summary"]["unknown"].AsInt(), 1);
}

TEST(Galen, SaysWhyTheAgentWasNotAsked) {
  FleetStage fleet({"--node", "node-1"});
  ASSERT_TRUE(fleet.serves());
  fleet.Create(kube::kPods, "default",
               "{metadata: {name: web-0}, spec: {containers: [{name: web, image: web}]}}");
  ASSERT_TRUE(fleet.GalenSays({"why", "web-0"}, "web-0 runs on node-1"));
  EXPECT_THAT(fleet.Galen({"why", "web-0"}).output, HasSubstr(fleet.stage().Path("agent.sock")));
  const auto json = Json::Parse(fleet.Galen({"-o", "json", "why", "web-0"}).output);
  ASSERT_TRUE(json.ok());
  EXPECT_THAT((*json)["note"].AsString(), HasSubstr(fleet.stage().Path("agent.sock")));
}

TEST(Galen, SaysWhatToApplyWhereTheClusterHasNoNodeDeviceHealth) {
  FleetStage fleet(kEmptyCluster);
  ASSERT_TRUE(fleet.serves());
  const Outcome nodes = fleet.Galen({"get", "nodes"});
  EXPECT_EQ(nodes.exit_code, 0) << nodes.error;
  EXPECT_THAT(nodes.error, HasSubstr("kubectl apply -f deploy/crds/nodedevicehealths.yaml\n"));
  fleet.InstallDefinitions();
  EXPECT_THAT(fleet.Galen({"get", "nodes"}).error, Not(HasSubstr("kubectl apply")));
}

TEST(Galen, TakesTheAgentsSocketFromTheEnvironmentToo) {
  Stage stage;
  const auto inject = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"env", "GALEN_AGENT_SOCKET=/nonexistent/a.sock",
                                        BuiltProgram("galen"), "inject"};
    command.insert(command.end(), more.begin(), more.end());
    return stage.Run(command).error;
  };
  EXPECT_THAT(inject({}), HasSubstr("no agent listens on /nonexistent/a.sock: "));
  EXPECT_THAT(inject({"--agent-socket", "/nonexistent/b.sock"}),
              HasSubstr("no agent listens on /nonexistent/b.sock: "));
}

TEST(Galen, HelpsWithEachCommandByWordAndByFlag) {
  Stage stage;
  const auto galen = [&](const std::vector<std::string>& words) {
    std::vector<std::string> command = {BuiltProgram("galen")};
    command.insert(command.end(), words.begin(), words.end());
    return stage.Run(command);
  };
  EXPECT_EQ(galen({"help", "why"}).output, galen({"why", "--help"}).output);
  EXPECT_THAT(galen({"help"}).output, HasSubstr("conformance"));
  const Outcome unknown = galen({"help", "whence"});
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_THAT(unknown.error, HasSubstr("no command 'whence'"));
  EXPECT_THAT(galen({"get"}).error, HasSubstr("galen get --help"));
}

// The words at the beginning of the lines below `title` in a help text, up to the next title.
std::vector<std::string> WordsBelow(const std::string& help, const std::string& title) {
  std::istringstream lines(help.substr(std::min(help.find(title), help.size())));
  std::vector<std::string> found;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && (line.empty() || line[0] == ' ')) {
    std::istringstream words(line);
    std::string word;
    if (line.starts_with("  ") && line[2] != ' ' && words >> word) found.push_back(word);
  }
  return found;
}

// What `galen --help` and the help of each command list, each shell's script completes.
TEST(Galen, CompletesEachOfItsCommandsAndTheirFlagsInEveryShell) {
  Stage stage;
  const std::string help = stage.Run({BuiltProgram("galen"), "--help"}).output;
  const std::vector<std::string> commands = WordsBelow(help, "Subcommands:");
  ASSERT_GE(commands.size(), 7u) << help;
  std::vector<std::string> words = commands;
  for (const std::string& command : commands) {
    const std::string text = stage.Run({BuiltProgram("galen"), "help", command}).output;
    for (std::string flag : WordsBelow(text, "Options:")) {
      flag = flag.substr(flag.rfind(',') + 1);  // of -w,--watch the long one
      words.push_back(flag.substr(flag.find_first_not_of('-')));
    }
  }
  EXPECT_THAT(words, testing::IsSupersetOf({"driver-socket", "batch", "patience", "watch"}));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = stage.Run({BuiltProgram("galen"), "completion", shell}).output;
    for (const std::string& word : words) {
      EXPECT_THAT(script, testing::ContainsRegex("[ -]" + word + "[ \")\n]"))
          << shell << " does not complete it";
    }
  }
}

}  // namespace
}  // namespace galen::e2e
