#include "sdk/plugin/plugin_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"

namespace galen::sdk {
namespace {

HealthSnapshot Finding(const std::string& device, HealthState state) {
  HealthSnapshot snapshot;
  snapshot[device].health.state = state;
  return snapshot;
}

bool Listed(HealthState state, std::optional<bool> before, bool degraded_as_unhealthy = false) {
  const HealthSnapshot health = Finding("gpu-0", state);
  PluginDevices last;
  if (before) last["gpu-0"].healthy = *before;
  return ListDevices({{.name = "gpu-0"}}, &health, last, degraded_as_unhealthy).at("gpu-0").healthy;
}

TEST(PluginDevices, HealthyAndUnhealthyAreTheKubeletsOwnWords) {
  EXPECT_TRUE(Listed(HealthState::kHealthy, false));
  EXPECT_FALSE(Listed(HealthState::kUnhealthy, true));
}

TEST(PluginDevices, UnknownKeepsTheWordThatWasKnownAndIsHealthyWithoutOne) {
  EXPECT_TRUE(Listed(HealthState::kUnknown, std::nullopt));
  EXPECT_TRUE(Listed(HealthState::kUnknown, true));
  EXPECT_FALSE(Listed(HealthState::kUnknown, false));
}

TEST(PluginDevices, DegradedIsWhatTheDriverSays) {
  EXPECT_TRUE(Listed(HealthState::kDegraded, false, false));
  EXPECT_FALSE(Listed(HealthState::kDegraded, true, true));
}

TEST(PluginDevices, ADeviceThatWasNotJudgedYetIsNotOffered) {
  const HealthSnapshot none;
  EXPECT_TRUE(ListDevices({{.name = "gpu-0"}}, &none, {}, false).empty());
  EXPECT_EQ(ListDevices({{.name = "gpu-0"}}, nullptr, {}, false).size(), 1u);
}

TEST(PluginDevices, AWithdrawnDeviceIsListedOnlyWhileItIsUnhealthy) {
  Device device{.name = "gpu-0"};
  device.offered = Device::Offered::kNever;
  const HealthSnapshot well = Finding("gpu-0", HealthState::kHealthy);
  const HealthSnapshot bad = Finding("gpu-0", HealthState::kUnhealthy);
  EXPECT_TRUE(ListDevices({device}, &well, {}, false).empty());
  EXPECT_EQ(ListDevices({device}, &bad, {}, false).size(), 1u);
  device.offered = Device::Offered::kWhereTaintsCount;
  EXPECT_TRUE(ListDevices({device}, &well, {}, false).empty());
}

TEST(PluginDevices, SitWhereTheirAttributesSay) {
  const Inventory inventory = {
      {.name = "a",
       .attributes = {{"resource.kubernetes.io/numaNode", std::int64_t{1}},
                      {"numaNode", std::int64_t{7}},
                      {"resource.kubernetes.io/pcieRoot", std::string("pci0000:4a")}}},
      {.name = "b", .attributes = {{"numaNode", std::int64_t{0}}}},
      {.name = "c", .attributes = {{"numaNode", std::string("1")}}}};
  const PluginDevices devices = ListDevices(inventory, nullptr, {}, false);
  EXPECT_EQ(devices.at("a"), (PluginDevice{.numa_node = 1, .pcie_root = "pci0000:4a"}));
  EXPECT_EQ(devices.at("b"), (PluginDevice{.numa_node = 0}));
  EXPECT_EQ(devices.at("c"), PluginDevice{});
}

TEST(PluginDevices, AreEncodedWithTheirNodes) {
  ::v1beta1::ListAndWatchResponse response;
  ASSERT_TRUE(
      response.ParseFromString(EncodeList({{"a", {.healthy = false, .numa_node = 0}}, {"b", {}}})));
  ASSERT_EQ(response.devices_size(), 2);
  EXPECT_EQ(response.devices(0).id(), "a");
  EXPECT_EQ(response.devices(0).health(), "Unhealthy");
  ASSERT_EQ(response.devices(0).topology().nodes_size(), 1);
  EXPECT_EQ(response.devices(0).topology().nodes(0).id(), 0);
  EXPECT_EQ(response.devices(1).health(), "Healthy");
  EXPECT_FALSE(response.devices(1).has_topology());
}

// What the API server and the kubelet take, asked of IsExtendedResourceName.
TEST(PluginDevices, ResourcesAreInADomainOfTheVendorsOwn) {
  EXPECT_TRUE(IsExtendedResource("vendor.com/gpu"));
  EXPECT_TRUE(IsExtendedResource("vendor.com/GPU_a.b-c"));
  for (const char* name : {"", "gpu", "vendor.com/", "/gpu", "vendor.com/-gpu", "Vendor.com/gpu",
                           "a/b/c", "kubernetes.io/gpu", "node.kubernetes.io/gpu",
                           "requests.vendor.com/gpu", "vendor.com/a gpu"}) {
    EXPECT_FALSE(IsExtendedResource(name)) << name;
  }
  EXPECT_TRUE(IsExtendedResource("vendor.com/" + std::string(63, 'a')));
  EXPECT_FALSE(IsExtendedResource("vendor.com/" + std::string(64, 'a')));
}

TEST(PluginDevices, AreSelectedByPattern) {
  EXPECT_TRUE(IsSelected("gpu-10", {}));
  EXPECT_TRUE(IsSelected("gpu-10", {"nic-0", "gpu-1*"}));
  EXPECT_TRUE(IsSelected("gpu-1", {"gpu-1*"}));
  EXPECT_TRUE(IsSelected("gpu-1", {"*-1"}));
  EXPECT_TRUE(IsSelected("gpu-1-1", {"*-1"}));
  EXPECT_TRUE(IsSelected("gpu-1", {"g*-*"}));
  EXPECT_FALSE(IsSelected("gpu-2", {"gpu-1*"}));
  EXPECT_FALSE(IsSelected("gpu-10", {"gpu-1"}));
  EXPECT_FALSE(IsSelected("gpu-1", {""}));
}

}  // namespace
}  // namespace galen::sdk
