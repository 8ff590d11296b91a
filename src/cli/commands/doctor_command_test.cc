// What `galen doctor` says where there is no node, and on a directory that looks like one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/data/json.h"
#include "base/files/test_temporary_directory.h"
#include "base/flags.h"
#include "cli/commands/commands.h"
#include "cli/commands/conformance.h"

namespace galen::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Nothing of the machine that runs the test is asked: no socket, no cluster of its own.
Options Alone(const TemporaryDirectory& directory) {
  Options options;
  options.agent_socket = directory.Path("agent.sock");
  return options;
}

DoctorArguments Below(const TemporaryDirectory& directory) {
  std::filesystem::create_directories(directory.Path("galen"));
  return {.node = "node-7",
          .kubelet_root = directory.Path("kubelet"),
          .state_dir = directory.Path("galen"),
          .cdi_roots = {directory.Path("cdi")}};
}

TEST(DoctorCommand, ARootThatIsNotThereIsAWrongFlag) {
  const TemporaryDirectory directory;
  const DoctorResult result = Doctor(Alone(directory), Below(directory));
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.problem, HasSubstr("--kubelet-root " + directory.Path("kubelet")));
  EXPECT_EQ(result.text, "");
}

TEST(DoctorCommand, AnAgentsDirectoryThatIsNamedAndNotThereIsAWrongFlag) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.Path("kubelet"));
  DoctorArguments arguments = Below(directory);
  arguments.state_dir = directory.Path("nope");
  const DoctorResult result = Doctor(Alone(directory), arguments);
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.problem, "--state-dir " + directory.Path("nope") + ": no such directory");
}

TEST(DoctorCommand, AFileOfExpectationsThatCannotBeReadIsAWrongFlag) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.Path("kubelet"));
  DoctorArguments arguments = Below(directory);
  arguments.expect = directory.Path("none.yaml");
  DoctorResult result = Doctor(Alone(directory), arguments);
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.problem, HasSubstr("--expect " + arguments.expect));
  std::ofstream(arguments.expect) << "devices: [{model: H200}]\n";
  result = Doctor(Alone(directory), arguments);
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.problem, HasSubstr("devices[0]: needs count"));
}

TEST(DoctorCommand, WhereThereIsNoNodeItSaysSo) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.Path("kubelet"));
  DoctorArguments arguments = Below(directory);
  arguments.state_dir = "";  // one that is there shows that an agent has been here
  const DoctorResult result = Doctor(Alone(directory), arguments);
  EXPECT_EQ(result.code, kExitUnavailable);
  EXPECT_THAT(result.problem, HasSubstr(directory.Path("kubelet")));
  EXPECT_EQ(result.text, "");
}

TEST(DoctorCommand, ANodeWithoutClusterIsLookedAtAsFarAsPossible) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.Path("kubelet/plugins_registry"));
  std::ofstream(directory.Path("kubelet/plugins_registry/stray.txt")) << "hello";
  DoctorArguments arguments = Below(directory);
  arguments.output = "json";
  const DoctorResult result = Doctor(Alone(directory), arguments);
  EXPECT_EQ(result.code, 1) << "no agent answers, which is bad";
  const StatusOr<Json> report = Json::Parse(result.text);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ((*report)["node"].AsString(), "node-7");
  std::map<std::string, std::string> verdicts;
  for (const Json& check : (*report)["checks"].items()) {
    verdicts[check["id"].AsString()] = check["verdict"].AsString();
  }
  EXPECT_EQ(verdicts["drivers.registry"], "healthy");
  EXPECT_EQ(verdicts["drivers.strays"], "warning");
  EXPECT_EQ(verdicts["agent.running"], "bad");
  // What could not be looked at is never bad.
  for (const char* id : {"api.reachable", "slices.missing", "claims.stuck-pods", "gates.health-api",
                         "agent.permissions", "kubelet.ready"}) {
    EXPECT_EQ(verdicts[id], "unknown") << id;
  }
}

TEST(DoctorCommand, EachFormatIsThere) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.Path("kubelet/plugins_registry"));
  DoctorArguments arguments = Below(directory);
  const std::map<std::string, std::string> begins = {
      {"table", "node node-7"}, {"wide", "node node-7"}, {"json", "{"}, {"junit", "<?xml"}};
  for (const auto& [format, begin] : begins) {
    arguments.output = format;
    EXPECT_THAT(Doctor(Alone(directory), arguments).text, StartsWith(begin));
  }
}

TEST(DoctorCommand, WhatIsWrongOnTheCommandLineIsReportedBeforeAnythingIsLookedAt) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.Path("kubelet"));
  Options options = Alone(directory);
  options.output = "yaml";
  EXPECT_EQ(Doctor(options, Below(directory)).code, kExitUsage);
  DoctorArguments arguments = Below(directory);
  arguments.agent_account = "galen-agent";
  const DoctorResult account = Doctor(Alone(directory), arguments);
  EXPECT_EQ(account.code, kExitUsage);
  EXPECT_THAT(account.problem, HasSubstr("NAMESPACE/NAME"));
  options = Alone(directory);
  options.cluster.path = directory.Path("no-kubeconfig");
  const DoctorResult missing = Doctor(options, Below(directory));
  EXPECT_EQ(missing.code, kExitUsage);
  EXPECT_THAT(missing.problem, HasSubstr("no-kubeconfig"));
}

}  // namespace
}  // namespace galen::cli
