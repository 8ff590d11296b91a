#include "sdk/app/driver_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/flags.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Driver::Options Good() { return {.name = "fpga.example.com", .node = "node-7"}; }

std::string Fault(const Driver::Options& options) { return ValidateOptions(options).message(); }

std::optional<int> Parse(std::vector<std::string> words, Driver::Options& options) {
  std::vector<char*> argv;
  words.insert(words.begin(), "driver");
  for (std::string& word : words) argv.push_back(word.data());
  return ParseCommandLine(static_cast<int>(argv.size()), argv.data(), options);
}

TEST(DriverOptions, OfAnOrdinaryDriverAreTaken) {
  EXPECT_EQ(ValidateOptions(Good()), OkStatus());
  EXPECT_EQ(PoolOf(Good()), "node-7");
  Driver::Options options = Good();
  options.pool = "rack-1/node-7";
  EXPECT_EQ(ValidateOptions(options), OkStatus());
  EXPECT_EQ(PoolOf(options), "rack-1/node-7");
}

TEST(DriverOptions, TellEveryFaultAtOnce) {
  Driver::Options options{.name = "Not A Name", .node = "", .kubelet_root = "here"};
  options.cdi_root = "there";
  options.log_level = "loud";
  options.health_timeout = 0s;
  options.instance = "a/b";
  options.metrics_address = "9464";
  EXPECT_EQ(ValidateOptions(options).code(), Code::kInvalidArgument);
  EXPECT_THAT(Fault(options),
              AllOf(HasSubstr("name \"Not A Name\""), HasSubstr("$NODE_NAME"),
                    ContainsRegex("--kubelet-root \"here\".*--cdi-root \"there\""),
                    HasSubstr("\"loud\""), HasSubstr("1s to 24h"), HasSubstr("instance \"a/b\""),
                    HasSubstr("'9464' is not an address")));
}

TEST(DriverOptions, RefuseANameThatIsNoCdiVendor) {
  Driver::Options options = Good();
  options.name = "3d.example.com";
  EXPECT_THAT(Fault(options), HasSubstr("begins with a letter"));
}

TEST(DriverOptions, ADevicePluginHasAResourceInADomainOfItsOwn) {
  Driver::Options options = Good();
  options.device_plugin = {.resource = "vendor.com/fpga", .devices = {"fpga-1*"}};
  EXPECT_EQ(ValidateOptions(options), OkStatus());
  options.device_plugin.resource = "fpga";
  EXPECT_THAT(Fault(options), HasSubstr("\"fpga\" is no extended resource like vendor.com/gpu"));
  options.device_plugin.resource = "kubernetes.io/fpga";
  EXPECT_THAT(Fault(options), HasSubstr("is no extended resource"));
  options.device_plugin.resource = "";
  EXPECT_THAT(Fault(options), HasSubstr("--device-plugin-devices needs --device-plugin as well"));
}

TEST(DriverOptions, RefusePathsThatNoSocketFitsInto) {
  Driver::Options options = Good();
  options.kubelet_root = "/" + std::string(100, 'k');
  EXPECT_THAT(Fault(options), HasSubstr("at most 107 fit"));
}

TEST(DriverOptions, NameTheClusterToAsk) {
  FakeFileSystem files;
  Driver::Options options = Good();
  options.kubeconfig = "/kubeconfig";
  EXPECT_EQ(FindCluster(files, options).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(files
                  .WriteAtomically("/kubeconfig",
                                   "{current-context: c, contexts: [{name: c, context: {cluster: "
                                   "c, user: u}}],\n"
                                   " clusters: [{name: c, cluster: {server: 'http://a:1'}}],\n"
                                   " users: [{name: u, user: {}}]}\n",
                                   0600)
                  .ok());
  EXPECT_EQ(FindCluster(files, options).status(), OkStatus());
}

TEST(CommandLine, FillsTheOptionsAndKeepsTheDefaults) {
  Driver::Options options = Good();
  EXPECT_EQ(
      Parse({"--node", "node-8", "--instance", "uid-1", "--health-timeout", "10s",
             "--degraded-as-unhealthy", "--log-level", "debug", "--device-plugin",
             "vendor.com/fpga", "--device-plugin-devices", "a", "--device-plugin-devices", "b*"},
            options),
      std::nullopt);
  EXPECT_EQ(options.node, "node-8");
  EXPECT_EQ(options.instance, "uid-1");
  EXPECT_EQ(options.health_timeout, 10s);
  EXPECT_TRUE(options.degraded_as_unhealthy);
  EXPECT_EQ(options.log_level, "debug");
  EXPECT_EQ(options.kubelet_root, "/var/lib/kubelet");
  EXPECT_EQ(options.drain, 5s);
  EXPECT_EQ(options.device_plugin.resource, "vendor.com/fpga");
  EXPECT_EQ(options.device_plugin.devices, (std::vector<std::string>{"a", "b*"}));
}

TEST(CommandLine, LeavesOnHelpAndOnFaults) {
  Driver::Options options = Good();
  EXPECT_EQ(Parse({"--help"}, options), 0);
  EXPECT_EQ(Parse({"--no-such-flag"}, options), kExitUsage);
  EXPECT_EQ(Parse({"--log-level", "loud"}, options), kExitUsage);
}

}  // namespace
}  // namespace galen::sdk
