#include "sdk/app/health_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "net/address.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace wire = ::pluginregistration;

constexpr char kSourceSocket[] = "/run/galen/health/gpu.vendor.example.sock";

class HealthSourceTest : public ::testing::Test {
 protected:
  HealthSourceTest() {
    source_ = HealthSource::Create(
                  {node_.loop, NullLog(), node_.metrics, node_.random, node_.files, node_.sockets},
                  {.driver = "gpu.vendor.example",
                   .directory = kHealthSourcesDirectory,
                   .instance = "",
                   .health =
                       [this](HealthWriter& health) {
                         lost_ ? health.Unhealthy("gpu-0", {"XidGpuLost", "XID 79: lost"})
                               : health.Healthy("gpu-0");
                       }})
                  .value();
    EXPECT_EQ(
        source_->Publish({{.name = "gpu-0",
                           .attributes = {{"uuid", "GPU-5f3c"},
                                          {"serial", "1650"},
                                          {"resource.kubernetes.io/pciBusID", "0000:4B:00.0"}}}}),
        OkStatus());
    EXPECT_EQ(source_->Start(), OkStatus());
    node_.loop.RunUntilIdle();
  }

  FakeNode node_;
  bool lost_ = false;
  std::unique_ptr<HealthSource> source_;
};

TEST_F(HealthSourceTest, HasOneSocketAndItIsNotWhereAKubeletLooks) {
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kSourceSocket));
}

TEST_F(HealthSourceTest, SaysWhomItIsForAndOffersHealthAlone) {
  const auto info =
      node_.Connect(kSourceSocket)
          .Call<wire::PluginInfo>("/pluginregistration.Registration/GetInfo", wire::InfoRequest());
  EXPECT_EQ(info->type(), kHealthSourceType);
  EXPECT_EQ(info->name(), "gpu.vendor.example");
  EXPECT_EQ(info->endpoint(), kSourceSocket);
  EXPECT_THAT(info->supported_versions(),
              ElementsAre("v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"));
}

TEST_F(HealthSourceTest, PreparesNothingForAnybody) {
  const auto answer =
      node_.Connect(kSourceSocket)
          .Call<wire::PluginInfo>("/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
                                  wire::InfoRequest());
  EXPECT_EQ(answer.status().code(), Code::kUnimplemented);
}

TEST_F(HealthSourceTest, ReportsWhatItsHardwareIsFoundAgainBy) {
  FakeCaller caller = node_.Connect(kSourceSocket);
  FakeSubscriber agent(caller, "v1");
  node_.loop.RunUntilIdle();
  const v1::Finding& finding = agent.Latest("gpu-0").galen();
  EXPECT_EQ(finding.uuid(), "GPU-5f3c");
  EXPECT_EQ(finding.pci_address(), "0000:4b:00.0");
  EXPECT_EQ(finding.serial(), "1650");
  lost_ = true;
  source_->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(agent.Latest("gpu-0").health(), v1::UNHEALTHY);
  EXPECT_EQ(agent.Latest("gpu-0").galen().code(), "XidGpuLost");
}

TEST_F(HealthSourceTest, IsReadyWhenAnAgentHasSubscribedAndLeavesNothingAtItsEnd) {
  EXPECT_THAT(source_->WhyNotReady(), HasSubstr("no agent of Galen"));
  FakeCaller caller = node_.Connect(kSourceSocket);
  FakeSubscriber agent(caller, "v1");
  node_.loop.RunUntilIdle();
  EXPECT_EQ(source_->WhyNotReady(), "");
  bool stopped = false;
  source_->Stop([&] { stopped = true; });
  node_.loop.Advance(1s);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(agent.end(), OkStatus());
  EXPECT_THAT(node_.sockets.sockets(), testing::IsEmpty());
}

// What a source logs that publishes one device with these attributes for `driver`.
std::string LoggedOf(const std::string& driver, const std::map<std::string, std::string>& known) {
  FakeNode node;
  std::string logged;
  Log log(
      LogLevel::kWarning, [] { return WallTime(); },
      [&](LogLevel, std::string_view line) { logged += line; });
  const auto source = HealthSource::Create(
      {node.loop, log, node.metrics, node.random, node.files, node.sockets},
      {.driver = driver, .directory = kHealthSourcesDirectory, .health = [](HealthWriter&) {}});
  Device device{.name = "gpu-0"};
  for (const auto& [name, value] : known) device.attributes[name] = value;
  EXPECT_EQ((*source)->Publish({device}), OkStatus());
  return logged;
}

TEST(HealthSourceOfFiles, SaysThatNobodyFindsItsDevices) {
  EXPECT_THAT(LoggedOf("nvidia.com/gpu", {{"path", "class/drm/card0"}}),
              HasSubstr("no device of this resource will be found: a device plugin's are known by "
                        "UUID or PCI address"));
  EXPECT_THAT(LoggedOf("nvidia.com/gpu", {{"serial", "1650"}}), HasSubstr("no device of this"));
  EXPECT_THAT(LoggedOf("gpu.vendor.example", {{"path", "x"}}),
              HasSubstr("no device of this driver"));
  EXPECT_EQ(LoggedOf("gpu.vendor.example", {{"serial", "1650"}}), "");
  EXPECT_EQ(LoggedOf("nvidia.com/gpu", {{"uuid", "GPU-5f3c"}}), "");
}

TEST(HealthSourceOfFiles, SaysThatNoAgentAsksIt) {
  FakeNode node;
  std::vector<std::string> lines;
  Log log(
      LogLevel::kWarning, [] { return WallTime(); },
      [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto source = HealthSource::Create(
      {node.loop, log, node.metrics, node.random, node.files, node.sockets},
      {.driver = "gpu.vendor.example", .directory = "/run/galne", .health = [](HealthWriter&) {}});
  ASSERT_EQ((*source)->Start(), OkStatus());
  node.loop.Advance(HealthSource::kAgentWithin - 1s);
  EXPECT_THAT(lines, testing::IsEmpty());
  node.loop.Advance(5min);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("no agent of Galen asks for this health"));
  EXPECT_THAT(lines[0], HasSubstr("socket=/run/galne/gpu.vendor.example.sock"));
  EXPECT_THAT(lines[0], HasSubstr("usual=/run/galen/health"));
}

TEST(HealthSourceSocket, TwoInstancesHaveTwoAndALongNameIsShortened) {
  const auto socket = [](const std::string& directory, const std::string& instance) {
    return HealthSourceSocket(directory, "gpu.vendor.example", instance);
  };
  EXPECT_EQ(*socket("/run/galen/health", ""), kSourceSocket);
  EXPECT_NE(*socket("/run/galen/health", "a"), *socket("/run/galen/health", "b"));
  const std::string deep = "/" + std::string(70, 'd');
  EXPECT_LE(socket(deep, std::string(60, 'i'))->size(), net::kSocketPathMax);
  EXPECT_NE(*socket(deep, std::string(60, 'i')), *socket(deep, std::string(60, 'j')));
  EXPECT_FALSE(socket("/" + std::string(100, 'd'), "").ok());
}

TEST(HealthSourceSocket, OfAResourceItIsOneFileAndNoDirectory) {
  EXPECT_EQ(*HealthSourceSocket("/run/galen/health", "nvidia.com/gpu", ""),
            "/run/galen/health/nvidia.com_gpu.sock");
}

}  // namespace
}  // namespace galen::sdk
