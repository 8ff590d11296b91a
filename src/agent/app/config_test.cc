#include "agent/app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kKubeconfig =
    "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, "
    "user: u}}], clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, "
    "user: {}}]}";

// The config, or every fault of it.
StatusOr<AgentConfig> LoadFrom(FileSystem& files, const Environment& environment,
                               const AgentFlags& flags) {
  ConfigFaults faults;
  AgentConfig config = LoadConfig(files, environment, flags, faults);
  RETURN_IF_ERROR(faults.ToStatus());
  return config;
}

StatusOr<AgentConfig> Load(const std::string& yaml, AgentFlags flags = {},
                           const Environment& environment = {{"NODE_NAME", "node-7"}}) {
  FakeFileSystem files;
  flags.config_path = "/etc/galen/agent.yaml";
  EXPECT_TRUE(files.MakeDirectories("/etc/galen", 0755).ok());
  EXPECT_TRUE(files.WriteAtomically(flags.config_path, yaml, 0600).ok());
  return LoadFrom(files, environment, flags);
}

TEST(Config, NeedsNothingButTheNodesName) {
  FakeFileSystem files;
  const StatusOr<AgentConfig> config = LoadFrom(files, {{"NODE_NAME", "node-7"}}, {});
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->node, "node-7");
  EXPECT_EQ(config->role, Role::kObserver);
  EXPECT_EQ(config->registry_directory(), "/var/lib/kubelet/plugins_registry");
  EXPECT_EQ(config->metrics_address, "127.0.0.1:9470") << "loopback unless somebody says otherwise";
}

TEST(Config, ReadsTheWholeFile) {
  const StatusOr<AgentConfig> config = Load(R"(
node: node-9
role: manager
kubeletRoot: /k
stateDir: /s
socket: /run/g.sock
metricsAddress: 0.0.0.0:9470
metricsCertificate: /tls/crt
metricsKey: /tls/key
metricsTokenFile: /tls/token
probesAddress: "[::]:9471"
degradedAs: unhealthy
endpointsAnywhere: true
logLevel: debug
timeouts:
- {driver: gpu.example.com, device: gpu-0, timeout: 5s}
drivers:
- {name: nic.example.com, subscribe: never}
- {name: gpu.example.com, subscribe: auto}
)");
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->node, "node-9");
  EXPECT_EQ(config->role, Role::kManager);
  EXPECT_EQ(config->degraded, DegradedAs::kUnhealthy);
  EXPECT_EQ(config->registry_directory(), "/k/plugins_registry");
  EXPECT_EQ(config->metrics_certificate, "/tls/crt");
  EXPECT_EQ(config->metrics_key, "/tls/key");
  EXPECT_EQ(config->metrics_token_file, "/tls/token");
  EXPECT_EQ(config->probes_address, "[::]:9471");
  EXPECT_THAT(config->timeouts, ElementsAre(TimeoutRule{"gpu.example.com", "", "gpu-0", 5s}));
  EXPECT_THAT(config->unsubscribed, ElementsAre("nic.example.com"));
  EXPECT_TRUE(config->endpoints_anywhere);
  EXPECT_EQ(config->log_level, LogLevel::kDebug);
}

TEST(Config, TheExampleNamesEveryLineThatMayStandInAFile) {
  PosixFileSystem files;
  const std::string example = "\n" + *files.Read(GALEN_SOURCE_DIR "/deploy/examples/agent.yaml");
  const std::string fault = ToString(Load("nonsense: 1\n").status());
  const std::string_view known = "known are: ";
  const std::size_t from = fault.find(known);
  ASSERT_NE(from, std::string::npos) << fault;
  std::istringstream names(fault.substr(from + known.size()));
  int count = 0;
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    ++count;
    const bool named = example.find("\n" + name + ":") != std::string::npos ||
                       example.find("\n# " + name + ":") != std::string::npos;
    EXPECT_TRUE(named) << name;
  }
  EXPECT_GE(count, 19);
}

TEST(Config, TheServicesExampleNamesAKubeconfigAndLeavesTheNodeToTheUnit) {
  PosixFileSystem files;
  const StatusOr<AgentConfig> config =
      LoadFrom(files, {{"NODE_NAME", "node-7"}},
               {.config_path = GALEN_SOURCE_DIR "/deploy/systemd/agent.yaml"});
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->node, "node-7");
  EXPECT_EQ(config->kubeconfig.path, "/etc/galen/kubeconfig");
  EXPECT_THAT(config->timeouts, IsEmpty());
  EXPECT_THAT(config->unsubscribed, IsEmpty());
}

TEST(Config, TheExampleIsOneAndSaysTheDefaults) {
  PosixFileSystem files;
  const StatusOr<AgentConfig> example =
      LoadFrom(files, {}, {.config_path = GALEN_SOURCE_DIR "/deploy/examples/agent.yaml"});
  ASSERT_TRUE(example.ok()) << ToString(example.status());
  const AgentConfig defaults;
  EXPECT_EQ(example->role, defaults.role);
  EXPECT_EQ(example->kubelet_root, defaults.kubelet_root);
  EXPECT_EQ(example->registry_directory(), defaults.registry_directory());
  EXPECT_EQ(example->state_dir, defaults.state_dir);
  EXPECT_EQ(example->socket, defaults.socket);
  EXPECT_EQ(example->metrics_address, defaults.metrics_address);
  EXPECT_EQ(example->degraded, defaults.degraded);
  EXPECT_EQ(example->timeouts.size(), 3u);
}

TEST(Config, FlagsOverruleTheFile) {
  const StatusOr<AgentConfig> config =
      Load("{node: node-9, role: manager}", {.node = "node-1", .role = "observer"});
  EXPECT_EQ(config->node, "node-1");
  EXPECT_EQ(config->role, Role::kObserver);
}

TEST(Config, ReportsEveryFaultAtOnce) {
  const Status status = Load(R"(
node: "Node 7"
role: kubelet
stateDir: relative
socket: 17
metricsAddress: nowhere
colour: red
timeouts: [{timeout: 5 minutes}, {timeout: 1ms}, gpu-0]
drivers: [{name: "", subscribe: maybe}]
)")
                            .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* fault :
       {"/etc/galen/agent.yaml", "node is \"Node 7\"",
        "role is \"kubelet\", must be one of: observer, manager",
        "stateDir is \"relative\", must be an absolute path", "socket must be a text",
        "metricsAddress is \"nowhere\"", "/etc/galen/agent.yaml:7: colour is not known",
        "timeouts[0].timeout is \"5 minutes\", must be a number with its unit",
        "timeouts[1].timeout is \"1ms\", must be from 100ms to 24h",
        "timeouts[2] must be an object", "drivers[0].name", "drivers[0].subscribe is \"maybe\""}) {
    EXPECT_THAT(status.message(), HasSubstr(fault));
  }
}

TEST(Config, ATimeoutForANameThatNobodyHasIsAFault) {
  const Status status = Load(R"(
timeouts:
- {driver: GPU.example.com, pool: node-1/, device: gpu_0, timeout: 48h}
- {driver: gpu.example.com, pool: rack-1/node-1, device: gpu-0, timeout: 45s}
)")
                            .status();
  EXPECT_EQ(status.message(),
            "/etc/galen/agent.yaml: 4 faults:\n"
            "  /etc/galen/agent.yaml:3: timeouts[0].driver is \"GPU.example.com\", must be a "
            "driver's name, in lower case\n"
            "  /etc/galen/agent.yaml:3: timeouts[0].pool is \"node-1/\", must be a pool's name, in "
            "lower case\n"
            "  /etc/galen/agent.yaml:3: timeouts[0].device is \"gpu_0\", must be a device's name, "
            "in lower case\n"
            "  /etc/galen/agent.yaml:3: timeouts[0].timeout is \"48h\", must be from 100ms to 24h");
}

TEST(Config, ATimeoutForAResourceThatNobodyHasIsAFault) {
  const Status status = Load(R"(
timeouts:
- {driver: kubernetes.io/gpu, timeout: 45s}
- {driver: nvidia.com/gpu, device: "GPU 5f3c", timeout: 45s}
- {driver: nvidia.com/, timeout: 45s}
- {driver: nvidia.com/gpu, device: "GPU-5f3c::3", timeout: 45s}
)")
                            .status();
  EXPECT_EQ(status.message(),
            "/etc/galen/agent.yaml: 3 faults:\n"
            "  /etc/galen/agent.yaml:3: timeouts[0] resource \"kubernetes.io/gpu\" must be "
            "DOMAIN/NAME of at most 63 characters, as example.com/gpu\n"
            "  /etc/galen/agent.yaml:4: timeouts[1] device id \"GPU 5f3c\" of resource "
            "nvidia.com/gpu must be 1 to 63 printable characters without spaces\n"
            "  /etc/galen/agent.yaml:5: timeouts[2] resource \"nvidia.com/\" must be "
            "DOMAIN/NAME of at most 63 characters, as example.com/gpu");
}

TEST(Config, AKeyThatComesTwiceHidesNoOtherFault) {
  const Status status = Load(
                            "role: kubelet\n"
                            "node: node-1\n"
                            "timeouts:\n"
                            "- timeout: 5s\n"
                            "  timeout: 6s\n"
                            "node: node-2\n"
                            "colour: red\n")
                            .status();
  EXPECT_THAT(
      status.message(),
      testing::StartsWith(
          "/etc/galen/agent.yaml: 4 faults:\n"
          "  /etc/galen/agent.yaml:1: role is \"kubelet\", must be one of: observer, manager\n"
          "  /etc/galen/agent.yaml:5: key \"timeout\" comes twice\n"
          "  /etc/galen/agent.yaml:6: key \"node\" comes twice\n"
          "  /etc/galen/agent.yaml:7: colour is not known; known are: "));
}

TEST(Config, ReportsFaultsInTheOrderOfTheFileAndNoneThatFollowsFromAnother) {
  const Status status = Load(
                            "role: kubelet\n"
                            "timeouts:\n"
                            "- driver: gpu.example.com\n"
                            "  timeout: 5\n"
                            "kubeletRoot: relative/path\n",
                            {.log_level = "loud"})
                            .status();
  EXPECT_EQ(
      status.message(),
      "/etc/galen/agent.yaml: 4 faults:\n"
      "  /etc/galen/agent.yaml:1: role is \"kubelet\", must be one of: observer, manager\n"
      "  /etc/galen/agent.yaml:4: timeouts[0].timeout is 5, must be a number with its unit, "
      "such as 30s\n"
      "  /etc/galen/agent.yaml:5: kubeletRoot is \"relative/path\", must be an absolute path\n"
      "  --log-level is \"loud\", must be one of: debug, info, warning, error");
}

TEST(Config, DirectoriesAndKubeconfigAreReportedInTheSamePass) {
  FakeFileSystem files;
  ConfigFaults faults;
  const AgentConfig config =
      LoadConfig(files, {{"NODE_NAME", "node-7"}},
                 {.role = "boss", .state_dir = "/file/s", .kubeconfig = "/nope"}, faults);
  ASSERT_TRUE(files.WriteAtomically("/file", "", 0600).ok());
  PreparePlaces(files, {}, config, faults);
  const std::string text = faults.ToStatus().message();
  EXPECT_THAT(text, HasSubstr("--role is \"boss\""));
  EXPECT_THAT(text, HasSubstr("kubeconfig: /nope"));
  EXPECT_THAT(text, HasSubstr("--state-dir: list /file"));
  EXPECT_FALSE(files.List("/run/galen").ok()) << "a refused agent leaves nothing behind";
}

TEST(Config, ADirectoryThatCannotBeMadeMayEndByItself) {
  FakeFileSystem files;
  ConfigFaults faults;
  const Environment pod = {{"NODE_NAME", "node-7"}, {"KUBECONFIG", "/k"}};
  ASSERT_TRUE(files.WriteAtomically("/k", kKubeconfig, 0600).ok());
  const AgentConfig config = LoadConfig(files, pod, {.state_dir = "/s"}, faults);
  files.FailWrites(PermissionDenied("make directory"));
  PreparePlaces(files, pod, config, faults);
  EXPECT_EQ(faults.ToStatus().code(), Code::kPermissionDenied);
  EXPECT_THAT(faults.ToStatus().message(), HasSubstr("--state-dir: make directory"));
}

TEST(Config, AManagerMakesWhatTheKubeletWould) {
  FakeFileSystem files;
  ConfigFaults faults;
  const Environment pod = {{"NODE_NAME", "node-7"}, {"KUBECONFIG", "/k"}};
  ASSERT_TRUE(files.WriteAtomically("/k", kKubeconfig, 0600).ok());
  PreparePlaces(files, pod, LoadConfig(files, pod, {.role = "manager"}, faults), faults);
  EXPECT_EQ(faults.ToStatus(), OkStatus());
  EXPECT_TRUE(files.List("/var/lib/kubelet/plugins_registry").ok());
  EXPECT_TRUE(files.List("/var/lib/galen").ok());
  EXPECT_TRUE(files.List("/run/galen").ok());
  FakeFileSystem other;
  ASSERT_TRUE(other.WriteAtomically("/k", kKubeconfig, 0600).ok());
  PreparePlaces(other, pod, LoadConfig(other, pod, {}, faults), faults);
  EXPECT_FALSE(other.List("/var/lib/kubelet").ok());
}

TEST(Config, AnAddressOnWhichNothingCanListenIsAFaultBeforeAnythingStarts) {
  for (const char* wrong : {"localhost:http", "localhost:9470", "127.0.0.1:70000", "::1:9470",
                            "9470", "127.0.0.1:", "unix:/run/x"}) {
    EXPECT_THAT(
        Load(std::string("{node: n, metricsAddress: \"") + wrong + "\"}").status().message(),
        HasSubstr("metricsAddress is"))
        << wrong;
  }
  for (const char* right : {"127.0.0.1:9470", "tcp:127.0.0.1:9470", ":9470", "[::1]:0", ""}) {
    EXPECT_TRUE(Load(std::string("{node: n, metricsAddress: \"") + right + "\"}").ok()) << right;
  }
}

TEST(Config, SaysWhereTheNodesNameCouldComeFrom) {
  EXPECT_THAT(Load("{}", {}, {}).status().message(), HasSubstr("NODE_NAME"));
}

TEST(Config, NamesTheFileThatIsMissingOrNoYaml) {
  FakeFileSystem files;
  EXPECT_FALSE(LoadFrom(files, {}, {.config_path = "/none"}).ok());
  EXPECT_THAT(Load("a: [").status().message(), HasSubstr("/etc/galen/agent.yaml"));
  EXPECT_THAT(Load("just words").status().message(), HasSubstr("must be a mapping"));
}

TEST(Config, ASocketPathThatFitsNoAddressIsAFault) {
  EXPECT_THAT(Load("{socket: /" + std::string(120, 'a') + "}").status().message(),
              HasSubstr("at most 107"));
}

// Whoever may make a Pod on such a node could do anything to it.
TEST(Config, RootRunsPodsAsProcessesOnlyWhereThatIsSaid) {
  const auto faults_of = [](AgentConfig config, unsigned user) {
    ConfigFaults faults;
    CheckProcesses(config, user, faults);
    return faults.ToStatus();
  };
  AgentConfig config = Load("role: manager\ncontainers: processes\ncdiRoot: /c").value();
  EXPECT_EQ(config.containers, Containers::kProcesses);
  EXPECT_EQ(config.cdi_root, "/c");
  EXPECT_TRUE(faults_of(config, 1000).ok());
  EXPECT_THAT(faults_of(config, 0).message(), HasSubstr("--processes-as-root"));
  config = Load("role: manager\ncontainers: processes\ncdiRoot: /c\nprocessesAsRoot: true").value();
  EXPECT_TRUE(faults_of(config, 0).ok());
  EXPECT_TRUE(faults_of(AgentConfig{}, 0).ok()) << "nothing runs unless it is asked for";
}

TEST(Config, OnlyAManagerRunsContainers) {
  EXPECT_THAT(Load("containers: processes").status().message(), HasSubstr("role manager"));
  EXPECT_FALSE(Load("role: manager\ncontainers: images").ok());
  EXPECT_EQ(Load("role: manager", {.containers = "processes"})->containers, Containers::kProcesses);
}

TEST(Config, BoundsPostMortemRecordsByAgeAndBytes) {
  const StatusOr<AgentConfig> plain = Load("");
  EXPECT_EQ(plain->post_mortem_age_max, 14 * 24h);
  const StatusOr<AgentConfig> config = Load("postMortemAgeMax: 90d\npostMortemBytesMax: 8388608");
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->post_mortem_age_max, 90 * 24h);
  EXPECT_EQ(config->post_mortem_bytes_max, std::size_t{8} << 20);
  const std::string said = ToString(Load("postMortemAgeMax: 5m\npostMortemBytesMax: 8Mi").status());
  EXPECT_THAT(said, HasSubstr("agent.yaml:1: postMortemAgeMax is \"5m\", must be from 1h to 90d"));
  EXPECT_THAT(said, HasSubstr("agent.yaml:2: postMortemBytesMax is \"8Mi\", must be a number of "
                              "bytes from 65536 to 67108864"));
}

}  // namespace
}  // namespace galen::agent
