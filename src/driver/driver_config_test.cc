#include "driver/driver_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DriverConfig GoodConfig(Kind kind) {
  DriverConfig config;
  config.kind = kind;
  config.driver.name = "gpu.example.com";
  config.driver.node = "node-7";
  config.interfaces = {"eth*"};
  return config;
}

TEST(DriverConfig, AGoodOneHasNoFaults) {
  EXPECT_EQ(Validate(GoodConfig(Kind::kGpu)), OkStatus());
  EXPECT_EQ(Validate(GoodConfig(Kind::kNic)), OkStatus());
}

TEST(DriverConfig, NamesEveryFaultAtOnce) {
  DriverConfig config = GoodConfig(Kind::kNic);
  config.driver.node = "";
  config.driver.metrics_address = "nowhere";
  config.poll = 1min;
  config.state_dir = "here";
  config.devices = 5000;
  config.interfaces.clear();
  const Status status = Validate(config);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* fault :
       {"node is empty", "--metrics-address: 'nowhere'", "--poll must be", "--state-dir must be",
        "--devices must be 1 to 4096", "--interfaces is missing"}) {
    EXPECT_THAT(status.message(), HasSubstr(fault));
  }
}

TEST(DriverConfig, AReportHoldsForWholeSecondsFromOneToADay) {
  DriverConfig config = GoodConfig(Kind::kGpu);
  config.health_timeout = 5s;
  EXPECT_EQ(Validate(config), OkStatus());
  EXPECT_EQ(SdkOptions(config).health_timeout, 5s);
  config.health_timeout = 1500ms;
  EXPECT_THAT(Validate(config).message(), HasSubstr("--health-timeout must be whole seconds"));
  config.health_timeout = 0s;
  EXPECT_THAT(Validate(config).message(), HasSubstr("--health-timeout must be 1s to 24h"));
}

TEST(DriverConfig, TheOperatorsRulesTakeThePlaceOfTheBuiltInOnes) {
  FakeFileSystem files;
  DriverConfig config = GoodConfig(Kind::kNic);
  EXPECT_NE(LoadRules(files, config)->FindRule("link-down"), nullptr);
  config.rules_path = "/rules.yaml";
  EXPECT_EQ(LoadRules(files, config).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(files
                  .WriteAtomically("/rules.yaml",
                                   "signs:\n  - {name: a, kind: reading}\nrules:\n"
                                   "  - {id: x, sign: a, when: '> 1', state: Unhealthy, code: A,\n"
                                   "     sentence: a, owner: Driver}\n",
                                   0600)
                  .ok());
  const auto rules = LoadRules(files, config);
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_EQ(rules->rules.size(), 1u);
}

TEST(DriverConfig, ABuiltInTableInThePlaceOfAFileIsAnsweredByHowItIsUsed) {
  FakeFileSystem files;
  DriverConfig config = GoodConfig(Kind::kPci);
  config.rules_path = "amdgpu";
  EXPECT_THAT(LoadRules(files, config).status().message(),
              HasSubstr("a built-in table is used by a file that says `extends: amdgpu`"));
}

TEST(DriverConfig, ALineOfTheKernelsLogIsRefusedWhereNobodyReadsIt) {
  DriverConfig config = GoodConfig(Kind::kNic);
  config.rules_path = "r.yaml";
  const char* table =
      "signs: [{name: dead, kind: event, driver: ice, line: dead}]\n"
      "rules: [{id: dead, sign: dead, when: '!= 0', state: Unhealthy, code: Dead, sentence: dead,\n"
      "  owner: Hardware, until: 1m}]\n";
  EXPECT_THAT(ParseRulesFile(table, config).status().message(),
              HasSubstr("sign 'dead' is a line of the kernel's log, which galen-driver nic does "
                        "not read"));
  config.kind = Kind::kPci;
  EXPECT_TRUE(ParseRulesFile(table, config).ok());
}

TEST(DriverConfig, SaysWhichDevicesWereAskedFor) {
  DriverConfig config = GoodConfig(Kind::kSysfs);
  config.interfaces.clear();
  EXPECT_EQ(AskedFor(config), "");
  config.patterns = {"class/acme/card*", "class/acme/fan*"};
  EXPECT_EQ(AskedFor(config), "--pattern class/acme/card* --pattern class/acme/fan*");
  config.sysfs_root = "/host";
  EXPECT_THAT(AskedFor(config), HasSubstr("fan* below /host"));
}

TEST(DriverConfig, KeepsItsStateBesideItsSocketUnlessConfiguredElsewhere) {
  DriverConfig config = GoodConfig(Kind::kGpu);
  EXPECT_EQ(StateDirectory(config), "/var/lib/kubelet/plugins/gpu.example.com");
  config.state_dir = "/state";
  EXPECT_EQ(StateDirectory(config), "/state");
}

TEST(DriverConfig, WithdrawalForWantOfATaintNeedsTheTaint) {
  DriverConfig config = GoodConfig(Kind::kGpu);
  config.withdraw_unhealthy = "without-taints";
  EXPECT_THAT(Validate(config).message(), HasSubstr("give --taint-unhealthy as well"));
  config.taint_unhealthy = "NoSchedule";
  EXPECT_EQ(Validate(config), OkStatus());
}

TEST(DriverConfig, BesideAnothersDriverItTouchesNothingOfThatDrivers) {
  DriverConfig config = GoodConfig(Kind::kNvidia);
  config.health_only_for = config.driver.name = "gpu.vendor.example";
  EXPECT_EQ(Validate(config), OkStatus());
  EXPECT_EQ(StateDirectory(config), "/run/galen/health/.state/gpu.vendor.example");
  config.taint_unhealthy = "NoSchedule";
  EXPECT_THAT(Validate(config).message(),
              HasSubstr("--taint-unhealthy: leave it out, since only the driver of"));
  config = {.kind = Kind::kNvidia, .driver = config.driver, .health_only_for = config.driver.name};
  config.taint_degraded = "NoSchedule";
  config.withdraw_unhealthy = "always";
  config.health_attributes = true;
  EXPECT_THAT(Validate(config).message(), AllOf(HasSubstr("--taint-degraded: leave it out"),
                                                HasSubstr("--withdraw-unhealthy: leave it out"),
                                                HasSubstr("--health-attributes: leave it out")));
  config = {.kind = Kind::kNvidia, .driver = config.driver, .health_only_for = config.driver.name};
  config.health_sources = "/" + std::string(110, 'd');
  EXPECT_THAT(Validate(config).message(), HasSubstr("--health-sources: the path "));
  config.health_sources = "here";
  EXPECT_THAT(Validate(config).message(), HasSubstr("--health-sources must be absolute"));
  config = GoodConfig(Kind::kNvidia);
  config.health_only_for = config.driver.name;
  config.driver.device_plugin.resource = "vendor.com/gpu";
  EXPECT_THAT(Validate(config).message(),
              HasSubstr("--device-plugin: leave it out, since only the driver of"));
  DriverConfig simulated = GoodConfig(Kind::kGpu);
  simulated.health_only_for = simulated.driver.name;
  EXPECT_THAT(Validate(simulated).message(),
              HasSubstr("simulated GPUs cannot report for another driver"));
}

TEST(DriverConfig, BesideADevicePluginItIsNamedByItsResource) {
  DriverConfig config = GoodConfig(Kind::kNvidia);
  config.health_only_for = config.driver.name = "nvidia.com/gpu";
  EXPECT_EQ(Validate(config), OkStatus());
  EXPECT_EQ(StateDirectory(config), "/run/galen/health/.state/nvidia.com_gpu");
  for (const std::string wrong : {"nvidia.com/", "a/b/c", "../gpu"}) {
    config.health_only_for = config.driver.name = wrong;
    EXPECT_THAT(Validate(config).message(),
                HasSubstr("--health-only-for: '" + wrong + "' is no device plugin's resource"));
  }
}

TEST(DriverConfig, BesideAnotherItRefusesWhatNobodyIsCalled) {
  DriverConfig config = GoodConfig(Kind::kNvidia);
  config.health_only_for = config.driver.name = "nvidia";
  EXPECT_EQ(Validate(config).message(),
            "--health-only-for: 'nvidia' has no domain: a driver is called like gpu.nvidia.com, a "
            "device plugin's resource like nvidia.com/gpu");
  for (const char* native : {"kubernetes.io/gpu", "node.kubernetes.io/gpu", "requests.x.y/gpu"}) {
    config.health_only_for = config.driver.name = native;
    EXPECT_THAT(Validate(config).message(), HasSubstr("not below kubernetes.io")) << native;
  }
}

TEST(DriverConfig, BesideADevicePluginRefusalsSpeakOfOne) {
  DriverConfig config = GoodConfig(Kind::kGpu);
  config.health_only_for = config.driver.name = "nvidia.com/gpu";
  config.taint_unhealthy = "NoSchedule";
  config.driver.device_plugin.resource = "vendor.com/gpu";
  const std::string told(Validate(config).message());
  EXPECT_THAT(told, HasSubstr("simulated GPUs cannot report for another device plugin"));
  EXPECT_THAT(told,
              HasSubstr("--taint-unhealthy: leave it out, since the devices of a device plugin"));
  EXPECT_THAT(told, HasSubstr("--device-plugin: leave it out, since only the device plugin of"));
  EXPECT_THAT(told, Not(HasSubstr("driver of --health-only-for")));
}

TEST(DriverConfig, ADriverOfItsOwnIsNotNamedAsAResource) {
  DriverConfig config = GoodConfig(Kind::kGpu);
  config.driver.name = "nvidia.com/gpu";
  EXPECT_THAT(Validate(config).message(), HasSubstr("name \"nvidia.com/gpu\" must be a DNS"));
}

TEST(DriverConfig, RefusesFilesWhereNobodyReadsThem) {
  FakeFileSystem files;
  ASSERT_TRUE(files.WriteAtomically("/r.yaml", "extends: memory\n", 0600).ok());
  DriverConfig config = GoodConfig(Kind::kGpu);
  config.rules_path = "/r.yaml";
  EXPECT_THAT(LoadRules(files, config).status().message(),
              HasSubstr("/r.yaml: sign 'memory-corrected' is a file"));
  config.kind = Kind::kSysfs;
  EXPECT_TRUE(LoadRules(files, config).ok());
}

TEST(DriverConfig, RunsCommandsOfATableOnlyWhereThatIsAllowed) {
  FakeFileSystem files;
  ASSERT_TRUE(files
                  .WriteAtomically("/r.yaml",
                                   "signs:\n- {name: fan, kind: reading, command: [/opt/fan.sh]}\n"
                                   "rules: []\n",
                                   0600)
                  .ok());
  DriverConfig config = GoodConfig(Kind::kGpu);
  config.rules_path = "/r.yaml";
  EXPECT_EQ(LoadRules(files, config).status().message(),
            "/r.yaml: sign 'fan' is a command: --run-commands lets the driver run it");
  config.run_commands = true;
  EXPECT_TRUE(HasChecks(*LoadRules(files, config)));
}

TEST(DriverConfig, OfPciDevicesSaysWhichOnes) {
  DriverConfig config = GoodConfig(Kind::kPci);
  EXPECT_THAT(Validate(config).message(), HasSubstr("--select is missing"));
  config.selections = {"10de", "nvidia"};
  EXPECT_THAT(Validate(config).message(), HasSubstr("--select: 'nvidia' is not a vendor (10de)"));
  config.selections = {"10de", "class:0302"};
  EXPECT_EQ(Validate(config), OkStatus());
}

TEST(DriverConfig, OfDirectoriesHasAPatternAndRules) {
  DriverConfig config = GoodConfig(Kind::kSysfs);
  EXPECT_THAT(Validate(config).message(), HasSubstr("--pattern is missing"));
  EXPECT_THAT(Validate(config).message(), HasSubstr("--rules is missing"));
  config.rules_path = "/r.yaml";
  for (const char* pattern : {"/sys/a", "../a", "a/../b", "a//b", "a**"}) {
    config.patterns = {pattern};
    EXPECT_THAT(Validate(config).message(), HasSubstr("is no path below /sys")) << pattern;
  }
  config.patterns = {"devices/system/edac/mc/mc*"};
  EXPECT_EQ(Validate(config), OkStatus());
}

}  // namespace
}  // namespace galen::device_driver
