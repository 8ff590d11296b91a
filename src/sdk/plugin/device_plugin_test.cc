#include "sdk/plugin/device_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "model/cdi_spec.h"
#include "sdk/fake_cluster.h"
#include "sdk/plugin/fake_kubelet.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace device_api = ::v1beta1;

constexpr char kPluginSocket[] = "/k/device-plugins/fpga.example.com.sock";
constexpr char kPluginFile[] = "/cdi/fpga.example.com-device.json";

class DevicePluginTest : public ::testing::Test {
 protected:
  std::unique_ptr<DevicePlugin> Make() {
    auto plugin = std::make_unique<DevicePlugin>(
        Edges{node_.loop, NullLog(), metrics_.emplace_back(), node_.random, node_.files,
              node_.sockets, cluster_.client(), node_.dialer.get()},
        DevicePlugin::Options{.driver = "fpga.example.com",
                              .resource = "example.com/fpga",
                              .socket = kPluginSocket,
                              .kubelet_socket = "/k/device-plugins/kubelet.sock",
                              .cdi_root = "/cdi"},
        DevicePlugin::Handlers{
            .edits = [](const std::string& device) { return CdiEdits{.env = {device + "=1"}}; },
            .check_free =
                [this](const std::string& device) {
                  if (device != held_) return OkStatus();
                  return Unavailable("device {} is prepared for ResourceClaim a/b", device);
                }},
        &health_);
    plugin->SetInventory({{.name = "fpga-0"}, {.name = "fpga-1"}});
    return plugin;
  }
  void Is(const std::string& device, HealthState state, const std::string& message = "") {
    health_[device].health.state = state;
    health_[device].health.cause.message = message;
  }
  std::unique_ptr<DevicePlugin> Start() {
    Is("fpga-0", HealthState::kHealthy);
    Is("fpga-1", HealthState::kHealthy);
    kubelet_.Start();
    auto plugin = Make();
    EXPECT_EQ(plugin->Start(), OkStatus());
    node_.loop.Advance(1s);
    return plugin;
  }
  StatusOr<device_api::AllocateResponse> Allocate(const std::vector<std::string>& ids) {
    device_api::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
    return node_.Connect(kPluginSocket)
        .Call<device_api::AllocateResponse>("/v1beta1.DevicePlugin/Allocate", request);
  }

  FakeNode node_;
  std::list<Metrics> metrics_;  // one a process
  FakeCluster cluster_{node_.loop, node_.random};
  FakeKubelet kubelet_{node_};
  HealthSnapshot health_;
  std::string held_;
};

TEST_F(DevicePluginTest, OffersItsDevicesAndFollowsTheirHealth) {
  const auto plugin = Start();
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Healthy");
  EXPECT_EQ(plugin->WhyNotReady(), "");
  Is("fpga-1", HealthState::kUnhealthy, "QSFP link down");
  plugin->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Unhealthy");
  Is("fpga-1", HealthState::kUnknown, "the probe does not answer");
  Is("fpga-0", HealthState::kUnknown, "the probe does not answer");
  plugin->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Unhealthy");
  EXPECT_THAT(kubelet_.reader()->lists(), SizeIs(2));
}

TEST_F(DevicePluginTest, OneThatWaitedKnowsWhatAnUnknownDeviceWasLast) {
  auto first = Start();
  const auto second = Make();
  EXPECT_EQ(second->Start(), OkStatus());
  Is("fpga-1", HealthState::kUnhealthy, "QSFP link down");
  second->HealthChanged();
  Is("fpga-1", HealthState::kUnknown, "the probe does not answer");
  second->HealthChanged();
  first->Stop(0s);
  first.reset();
  node_.loop.Advance(10s);
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Unhealthy");
}

TEST_F(DevicePluginTest, ADeviceIsGivenByItsCdiName) {
  const auto plugin = Start();
  const auto answer = Allocate({"fpga-1"});
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  ASSERT_EQ(answer->container_responses(0).cdi_devices_size(), 1);
  const std::string& name = answer->container_responses(0).cdi_devices(0).name();
  EXPECT_EQ(name, "fpga.example.com/device=fpga-1");
  // As a runtime resolves it.
  const CdiSpec spec = ReadCdiSpec(kPluginFile, *node_.files.Read(kPluginFile));
  EXPECT_EQ(spec.kind + "=" + spec.devices.at(1), name);
}

TEST_F(DevicePluginTest, StrangersAndUnhealthyDevicesAreRefusedWithTheReason) {
  const auto plugin = Start();
  Is("fpga-1", HealthState::kUnhealthy, "QSFP link down");
  plugin->HealthChanged();
  EXPECT_EQ(Allocate({"fpga-0", "fpga-7"}).status().code(), Code::kNotFound);
  EXPECT_THAT(Allocate({"fpga-7"}).status().message(),
              HasSubstr("example.com/fpga has no device \"fpga-7\" on this node"));
  EXPECT_LT(Allocate({std::string(100'000, 'x')}).status().message().size(), 500u);
  const auto unhealthy = Allocate({"fpga-1"});
  EXPECT_EQ(unhealthy.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(unhealthy.status().message(), HasSubstr("Unhealthy: QSFP link down"));
  EXPECT_EQ(Allocate(std::vector<std::string>(4097, "fpga-0")).status().code(),
            Code::kInvalidArgument);
}

TEST_F(DevicePluginTest, WhatAClaimHasIsOfferedWhenItIsFree) {
  held_ = "fpga-0";
  const auto plugin = Start();
  EXPECT_EQ(kubelet_.list(), "fpga-1 Healthy");
  held_ = "";
  node_.loop.Advance(DevicePlugin::kUpkeepPeriod);
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Healthy");
  // A claim that was prepared since, by whatever process.
  held_ = "fpga-0";
  EXPECT_THAT(Allocate({"fpga-0"}).status().message(), HasSubstr("ResourceClaim a/b"));
}

TEST_F(DevicePluginTest, ANewDeviceIsOfferedOnceItIsJudged) {
  const auto plugin = Start();
  plugin->SetInventory({{.name = "fpga-1"}, {.name = "fpga-2"}});
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-1 Healthy");
  Is("fpga-2", HealthState::kUnhealthy);
  plugin->HealthChanged();
  node_.loop.RunUntilIdle();
  EXPECT_EQ(kubelet_.list(), "fpga-1 Healthy, fpga-2 Unhealthy");
  EXPECT_THAT(ReadCdiSpec(kPluginFile, *node_.files.Read(kPluginFile)).devices,
              ElementsAre("fpga-1", "fpga-2"));
}

TEST_F(DevicePluginTest, AKubeletThatStartsFindsEverythingAgain) {
  const auto plugin = Start();
  kubelet_.Kill();
  node_.loop.Advance(1min);
  // Its start removes the plugin's socket.
  kubelet_.Start();
  node_.loop.Advance(2s);
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Healthy");
  EXPECT_EQ(plugin->WhyNotReady(), "");
}

TEST_F(DevicePluginTest, TheNextInstanceWaitsForTheSocket) {
  auto first = Start();
  auto second = Make();
  EXPECT_EQ(second->Start(), OkStatus());
  node_.loop.Advance(1min);
  EXPECT_EQ(second->WhyNotReady(), "");
  EXPECT_THAT(kubelet_.registrations(), SizeIs(1));
  first->Stop(100ms);
  node_.loop.Advance(1s);
  first.reset();
  node_.loop.Advance(DevicePlugin::kTakeOverPeriod + 100ms);
  EXPECT_THAT(kubelet_.registrations(), SizeIs(2));
  EXPECT_EQ(kubelet_.list(), "fpga-0 Healthy, fpga-1 Healthy");
}

TEST_F(DevicePluginTest, ADiskThatIsFullIsTriedAgain) {
  node_.files.FailWrites(ResourceExhausted("no space left on device"), 1);
  const auto plugin = Start();
  EXPECT_FALSE(node_.files.Read(kPluginFile).ok());
  node_.files.FailWrites(std::nullopt);
  node_.loop.Advance(DevicePlugin::kUpkeepPeriod);
  EXPECT_TRUE(node_.files.Read(kPluginFile).ok());
}

TEST_F(DevicePluginTest, StopEndsTheListAndLeavesTheFile) {
  const auto plugin = Start();
  const FakeListReader reader(node_, kPluginSocket);
  node_.loop.RunUntilIdle();
  plugin->Stop(100ms);
  node_.loop.Advance(1s);
  ASSERT_TRUE(reader.end());
  EXPECT_EQ(*reader.end(), OkStatus());
  EXPECT_TRUE(node_.files.Read(kPluginFile).ok());
}

TEST_F(DevicePluginTest, ADriverThatIsKilledWithOpenStreamsEndsThem) {
  auto plugin = Start();
  plugin.reset();
  node_.loop.Advance(1min);
  EXPECT_TRUE(kubelet_.reader()->end());
}

}  // namespace
}  // namespace galen::sdk
