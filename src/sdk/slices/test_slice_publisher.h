// A SlicePublisher at an API server of its own, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/fake_cluster.h"
#include "sdk/fake_node.h"
#include "sdk/slices/slice_publisher.h"

namespace galen::sdk {

inline const SliceScope kPublisherScope{
    .driver = "fpga.example.com", .node = "node-7", .pool = "node-7"};

inline Inventory PublishedDevices(std::size_t count) {
  Inventory inventory;
  for (std::size_t i = 0; i < count; ++i)
    inventory.push_back({.name = "fpga-" + std::to_string(i)});
  return inventory;
}

// The second may be held by several.
inline Inventory TaintedAndShared() {
  Inventory inventory = PublishedDevices(2);
  inventory[0].taints = {{.key = "fpga.example.com/flashing"}};
  inventory[1].allow_multiple_allocations = true;
  return inventory;
}

class SlicePublisherTest : public ::testing::Test {
 protected:
  SlicePublisherTest() { cluster_.AddNode("node-7"); }

  std::unique_ptr<SlicePublisher> MakePublisher(std::int64_t started = 1) {
    return std::make_unique<SlicePublisher>(
        Edges{node_.loop, log_, metrics_.emplace_back(), node_.random, node_.files, node_.sockets,
              cluster_.client()},
        kPublisherScope, started, [this] { return another_runs_; });
  }
  std::unique_ptr<SlicePublisher> Start(std::size_t devices, std::int64_t started = 1) {
    auto publisher = MakePublisher(started);
    publisher->SetInventory(PublishedDevices(devices));
    publisher->Start();
    node_.loop.Advance(1s);
    return publisher;
  }

  // As an earlier driver did.
  void Leave(const char* name) {
    kube::ResourceSlice left_over;
    left_over.name = name;
    left_over.driver = "fpga.example.com";
    left_over.pool = "node-7";
    left_over.generation = 41;
    left_over.slice_count = 1;
    left_over.node = "node-7";
    left_over.devices.resize(1);
    left_over.devices[0].name = "old-0";
    ASSERT_TRUE(
        cluster_.Do(kube::Create(kube::kResourceSlices, "", kube::EncodeSlice(left_over))).ok());
  }
  void Remove(const std::string& name) {
    ASSERT_TRUE(cluster_.Do(kube::Delete(kube::kResourceSlices, "", name, {})).ok());
  }

  bool another_runs_ = false;
  FakeNode node_;
  std::list<Metrics> metrics_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kWarning, [] { return WallTime{}; },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  FakeCluster cluster_{node_.loop, node_.random};
};

}  // namespace galen::sdk
