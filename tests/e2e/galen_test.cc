// `galen` as a process: what its exit codes mean, what it does with an odd world, and completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "base/data/yaml.h"
#include "cli/demo/embedded.h"
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
  EXPECT_THAT(galen.error,
              HasSubstr("Is the API server running? Another one is chosen with --kubeconfig.\n"));
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

TEST(Galen, PrintsItsVersionInTheFormatThatIsAskedFor) {
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

TEST(Galen, LeadsToTheAgentsPodOnThePodsNode) {
  FleetStage fleet({"--node", "node-1"});
  ASSERT_TRUE(fleet.serves());
  fleet.Create(kube::kNamespaces, "", "{metadata: {name: galen-system}}");
  const auto create = [&](const std::string& ns, const std::string& name) {
    fleet.Create(kube::kPods, ns,
                 "{metadata: {name: " + name +
                     ", labels: {app.kubernetes.io/name: galen-agent}}, "
                     "spec: {containers: [{name: a, image: a}]}}");
  };
  // Anyone may choose the label; whoever types the command would run what that Pod holds.
  create("default", "web-0");
  create("galen-system", "galen-agent-x2v");
  EXPECT_TRUE(fleet.GalenSays(
      {"why", "web-0"},
      "node-1 knows more:\n  kubectl -n galen-system exec galen-agent-x2v -- galen why -n "
      "default web-0"));
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

TEST(Galen, HelpsWithEachCommandByNameAndByFlag) {
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

// The first word of each of the lines below `title` in a help text, up to the next title.
std::vector<std::string> NamesBelow(const std::string& help, const std::string& title) {
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

// The long flags that the help of a command lists: of -w,--watch the long one.
std::set<std::string> FlagsOf(const std::string& help) {
  std::set<std::string> flags;
  for (const std::string& word : NamesBelow(help, "Options:")) {
    flags.insert(word.substr(word.rfind(',') + 1));
  }
  return flags;
}

// The long flags that a script completes after `command`, by its lines, for a shell is not there on
// each machine: bash and zsh add those of a command to those of all, fish has one line for each.
std::set<std::string> CompletedAfter(const std::string& command, const std::string& script) {
  static const std::regex kAdded(
      R"re((?:\$command == (\S+) \]\] && )?flags\+?=["(] ?(--[^")]*))re");
  static const std::regex kFish(R"re(^complete -c galen (?:-n "([^"]*)" )?(?:-s . )?-l (\S+))re");
  std::set<std::string> flags;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kFish)) {
      const std::string condition = " " + match[1].str() + " ";
      const bool named = condition.find(" " + command + " ") != std::string::npos;
      const bool others = !match[1].matched || condition.starts_with(" not ");
      if (named != others) flags.insert("--" + match[2].str());
    } else if (std::regex_search(line, match, kAdded)) {
      if (match[1].matched && match[1] != command) continue;
      std::istringstream words(match[2]);
      for (std::string word; words >> word;) flags.insert(word);
    }
  }
  return flags;
}

// What `galen --help` and the help of each command list, each shell's script completes: after each
// command what it knows, and nothing else.
TEST(Galen, CompletesEachOfItsCommandsAndTheirFlagsInEveryShell) {
  Stage stage;
  const auto galen = [&](const std::string& one, const std::string& other) {
    return stage.Run({BuiltProgram("galen"), one, other}).output;
  };
  const std::string help = stage.Run({BuiltProgram("galen"), "--help"}).output;
  const std::vector<std::string> commands = NamesBelow(help, "Subcommands:");
  ASSERT_GE(commands.size(), 7u) << help;
  std::set<std::string> of_all = FlagsOf(help);
  EXPECT_EQ(of_all.erase("--version"), 1u) << "for galen alone, which the command version does";
  ASSERT_THAT(of_all, testing::IsSupersetOf({"--kubeconfig", "--output", "--help"}));
  ASSERT_THAT(FlagsOf(galen("help", "demo")), testing::IsSupersetOf({"--batch", "--directory"}));
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = galen("completion", shell);
    for (const std::string& command : commands) {
      const std::string page = galen("help", command);
      std::set<std::string> flags = FlagsOf(page);
      for (const std::string& part : NamesBelow(page, "Subcommands:")) {
        flags.merge(FlagsOf(stage.Run({BuiltProgram("galen"), command, part, "--help"}).output));
      }
      flags.insert(of_all.begin(), of_all.end());
      EXPECT_EQ(CompletedAfter(command, script), flags) << shell << ", after " << command;
      EXPECT_THAT(script, testing::ContainsRegex("[ \"]" + command + "[ \")\n]")) << shell;
    }
  }
}

}  // namespace
}  // namespace galen::e2e
