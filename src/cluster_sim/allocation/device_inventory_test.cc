#include "cluster_sim/allocation/device_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"

namespace galen::cluster_sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json Generation(Json slice, const std::string& name, int generation, int slices) {
  slice["metadata"]["name"] = name;
  slice["spec"]["pool"]["generation"] = generation;
  slice["spec"]["pool"]["resourceSliceCount"] = slices;
  return slice;
}

std::vector<std::string> DevicesOn(const DeviceInventory& inventory, const Json& node) {
  std::vector<std::string> devices;
  for (const DevicePool* pool : inventory.PoolsFor(node)) {
    for (const OfferedDevice& device : pool->devices) {
      if (Covers(device.scope, node)) devices.push_back(device.id.device);
    }
  }
  return devices;
}

TEST(DeviceInventory, ANodeSeesItsOwnDevicesOnly) {
  const DeviceInventory inventory(api_sim::ByName({api_sim::FakeSlice("gpu", "node-1", {"a", "b"}),
                                                   api_sim::FakeSlice("gpu", "node-2", {"c"})}),
                                  {});
  EXPECT_THAT(DevicesOn(inventory, api_sim::FakeNode("node-1")), ElementsAre("a", "b"));
  EXPECT_THAT(DevicesOn(inventory, api_sim::FakeNode("node-3")), IsEmpty());
}

TEST(DeviceInventory, OnlyTheNewestGenerationOfAPoolCounts) {
  const Json old_one = Generation(api_sim::FakeSlice("gpu", "node-1", {"gone"}), "z", 3, 1);
  const Json new_one = Generation(api_sim::FakeSlice("gpu", "node-1", {"here"}), "a", 4, 1);
  const DeviceInventory inventory(api_sim::ByName({old_one, new_one}), {});
  EXPECT_THAT(DevicesOn(inventory, api_sim::FakeNode("node-1")), ElementsAre("here"));
}

TEST(DeviceInventory, APoolIsCompleteWhenAllItsSlicesAreThere) {
  const Json one = Generation(api_sim::FakeSlice("gpu", "node-1", {"a"}), "one", 1, 2);
  const Json two = Generation(api_sim::FakeSlice("gpu", "node-1", {"b"}), "two", 1, 2);
  const DeviceInventory half(api_sim::ByName({one}), {});
  EXPECT_FALSE(half.PoolsFor(api_sim::FakeNode("node-1")).at(0)->complete());
  const DeviceInventory whole(api_sim::ByName({one, two}), {});
  EXPECT_TRUE(whole.PoolsFor(api_sim::FakeNode("node-1")).at(0)->complete());
}

TEST(DeviceInventory, SlicesCanBeForAllNodesForSelectedOnesOrByDevice) {
  Json everywhere = api_sim::FakeSlice("net", "rack", {"vip"});
  everywhere["spec"].Erase("nodeName");
  everywhere["spec"]["allNodes"] = true;
  Json selected = api_sim::FakeSlice("net", "row", {"switch"});
  selected["spec"].Erase("nodeName");
  selected["spec"]["nodeSelector"] = api_sim::Yaml(R"({nodeSelectorTerms: [{matchFields:
      [{key: metadata.name, operator: In, values: [node-2]}]}]})");
  Json by_device = api_sim::FakeSlice("net", "mixed", {});
  by_device["spec"].Erase("nodeName");
  by_device["spec"]["perDeviceNodeSelection"] = true;
  by_device["spec"]["devices"] =
      api_sim::Yaml("[{name: x, nodeName: node-1}, {name: y, allNodes: true}]");
  const DeviceInventory inventory(api_sim::ByName({everywhere, selected, by_device}), {});
  EXPECT_THAT(DevicesOn(inventory, api_sim::FakeNode("node-1")), ElementsAre("x", "y", "vip"));
  EXPECT_THAT(DevicesOn(inventory, api_sim::FakeNode("node-2")), ElementsAre("y", "vip", "switch"));
}

TEST(DeviceInventory, TaintsOfSlicesAndRulesAddUp) {
  Json slice = api_sim::FakeSlice("gpu", "node-1", {"a", "b"});
  slice["spec"]["devices"].MutableItems()[0]["taints"] =
      api_sim::Yaml("[{key: k1, effect: NoExecute}]");
  const Json rule = api_sim::Yaml(R"({metadata: {name: r}, spec: {
      deviceSelector: {driver: gpu, pool: node-1, device: a},
      taint: {key: k2, effect: NoSchedule}}})");
  const DeviceInventory inventory(api_sim::ByName({slice}), api_sim::ByName({rule}));
  const DevicePool& pool = *inventory.PoolsFor(api_sim::FakeNode("node-1")).at(0);
  ASSERT_EQ(pool.devices[0].taints.size(), 2U);
  EXPECT_EQ(pool.devices[0].taints[1].key, "k2");
  EXPECT_THAT(pool.devices[1].taints, IsEmpty());
}

TEST(DeviceInventory, ARuleWithAnEmptySelectorTaintsAllAndWithoutOneNothing) {
  const auto slices = api_sim::ByName({api_sim::FakeSlice("gpu", "node-1", {"a"})});
  const auto taints = [&](std::string_view rule) {
    const DeviceInventory inventory(slices, api_sim::ByName({api_sim::Yaml(rule)}));
    return inventory.PoolsFor(api_sim::FakeNode("node-1")).at(0)->devices.at(0).taints.size();
  };
  EXPECT_EQ(taints("{metadata: {name: r}, spec: {deviceSelector: {}, taint: {key: k}}}"), 1U);
  EXPECT_EQ(taints("{metadata: {name: r}, spec: {taint: {key: k}}}"), 0U);
  EXPECT_EQ(taints("{metadata: {name: r}, spec: {deviceSelector: {device: b}, taint: {key: k}}}"),
            0U);
}

TEST(DeviceInventory, DevicesThatNeedMoreThanANameAreMarked) {
  Json slice = api_sim::FakeSlice("gpu", "node-1", {});
  slice["spec"]["devices"] = api_sim::Yaml(R"([{name: part, consumesCounters: [{counterSet: s}]},
      {name: shared, allowMultipleAllocations: true}, {name: bound, bindingConditions: [c]},
      {name: plain}])");
  const DeviceInventory inventory(api_sim::ByName({slice}), {});
  const DevicePool& pool = *inventory.PoolsFor(api_sim::FakeNode("node-1")).at(0);
  EXPECT_EQ(pool.devices[0].unsupported, "shared counters");
  EXPECT_EQ(pool.devices[1].unsupported, "capacity shared by several claims");
  EXPECT_EQ(pool.devices[2].unsupported, "binding conditions");
  EXPECT_EQ(pool.devices[3].unsupported, "");
}

}  // namespace
}  // namespace galen::cluster_sim
