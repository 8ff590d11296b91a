// A cluster of a few words, for tests of the allocator. Devices of driver "d" on node "node-1",
// unless a test says otherwise.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "alloc/selection/allocator.h"
#include "alloc/selection/test_selectors.h"

namespace galen::alloc {

class TestCluster {
 public:
  TestCluster() { AddClass("gpu", {"device.driver == \"d\""}); }

  void AddClass(const std::string& name, const std::vector<std::string>& selectors) {
    DeviceClass& added = classes[name];
    added.name = name;
    for (const std::string& selector : selectors) added.selectors.emplace_back(selector);
  }

  // A slice of this node with these devices. The whole of its pool.
  ResourceSlice& AddSlice(const std::string& name, const std::string& pool,
                          const std::vector<std::string>& devices) {
    ResourceSlice slice{.name = name, .driver = "d", .pool = pool, .slice_count = 1};
    slice.nodes.node = node.name;
    for (const std::string& device : devices) slice.devices.push_back(MakeDevice(device));
    slices.push_back(std::move(slice));
    return slices.back();
  }
  static Device MakeDevice(const std::string& name) {
    Device device{.name = name};
    device.facts.driver = "d";
    return device;
  }
  Device& DeviceOf(const std::string& name) {
    for (ResourceSlice& slice : slices) {
      for (Device& device : slice.devices) {
        if (device.name == name) return device;
      }
    }
    GALEN_UNREACHABLE();
  }
  // An attribute in the driver's own domain.
  void Set(const std::string& device, const std::string& id, AttributeValue value) {
    auto& attributes = DeviceOf(device).facts.attributes;
    attributes.emplace_back(QualifiedName{"d", id}, std::move(value));
    std::sort(attributes.begin(), attributes.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  void SetCapacity(const std::string& device, const std::string& name, const std::string& value,
                   std::optional<RequestPolicy> policy = std::nullopt) {
    const Quantity quantity = Quantity::Parse(value).value();
    DeviceOf(device).capacity.push_back({name, quantity, std::move(policy)});
    DeviceOf(device).facts.capacity.emplace_back(QualifiedName{"d", name}, quantity);
  }
  void Taint(const std::string& device, TaintEffect effect = TaintEffect::kNoSchedule) {
    DeviceOf(device).taints.push_back({.key = "sick", .value = "yes", .effect = effect});
  }
  void Consume(const std::string& device, const std::string& set, const std::string& amount) {
    DeviceOf(device).consumes_counters.push_back(
        {.counter_set = set, .counters = {{"memory", Quantity::Parse(amount).value()}}});
  }
  // A slice of the pool with that set, of which "memory" is the only counter. Counts the slice.
  void AddCounters(const std::string& pool, const std::string& set, const std::string& amount) {
    ResourceSlice& slice = AddSlice("counters-" + set, pool, {});
    slice.shared_counters.push_back(
        {.name = set, .counters = {{"memory", Quantity::Parse(amount).value()}}});
    std::int64_t count = 0;
    for (const ResourceSlice& other : slices) count += other.pool == pool ? 1 : 0;
    for (ResourceSlice& other : slices) {
      if (other.pool == pool) other.slice_count = count;
    }
  }
  void Hold(const std::string& device, const std::string& pool = "pool") {
    allocated.push_back({.devices = {{.request = "r", .id = {"d", pool, device}}}});
  }

  static ResourceClaim Claim(std::vector<DeviceRequest> requests,
                             std::vector<DeviceConstraint> constraints = {}) {
    return {.name_space = "ns",
            .name = "claim",
            .requests = std::move(requests),
            .constraints = std::move(constraints)};
  }
  static DeviceWish Wish(std::int64_t count, const std::string& selector = "") {
    DeviceWish wish{.class_name = "gpu",
                    .mode = DeviceWish::Mode::kExactCount,
                    .mode_text = "ExactCount",
                    .count = count};
    if (!selector.empty()) wish.selectors.emplace_back(selector);
    return wish;
  }
  static DeviceWish WishAll() {
    return {.class_name = "gpu", .mode = DeviceWish::Mode::kAll, .mode_text = "All"};
  }
  static DeviceRequest Request(const std::string& name, DeviceWish wish) {
    return {.name = name, .wishes = {std::move(wish)}};
  }
  static DeviceRequest Exactly(const std::string& name, std::int64_t count,
                               const std::string& selector = "") {
    return Request(name, Wish(count, selector));
  }
  static DeviceRequest FirstOf(const std::string& name, std::vector<DeviceWish> wishes) {
    for (std::size_t i = 0; i < wishes.size(); ++i) wishes[i].name = std::string(1, char('a' + i));
    return {.name = name, .first_available = true, .wishes = std::move(wishes)};
  }
  static DeviceConstraint Match(const std::string& attribute) {
    return {.match_attribute = "d/" + attribute};
  }
  static DeviceConstraint Distinct(const std::string& attribute) {
    return {.distinct_attribute = "d/" + attribute};
  }
  static DeviceToleration Tolerate() {
    return {.key = "sick", .op = DeviceToleration::Operator::kExists};
  }
  static NamedQuantities Amounts(const std::string& name, const std::string& amount) {
    return {{name, Quantity::Parse(amount).value()}};
  }

  void Use(int minor) {
    options.minor = minor;
    options.features = StockFeatures(minor);
  }

  // "r=gpu-0 r=gpu-1 | s=gpu-2" (claims apart), "no fit", "error", "node error", "cannot tell".
  std::string Ask(const std::vector<ResourceClaim>& claims) {
    const auto inventory = Inventory::Create(slices, rules, options);
    Usage usage(*inventory);
    for (const Allocation& allocation : allocated) usage.Add(allocation);
    SelectorMemo memo(*inventory, engine);
    const Demand demand = PrepareDemand(claims, classes, *inventory, memo);
    outcome = Allocator(*inventory, usage, demand, memo).Allocate(node);
    return Text(outcome);
  }
  std::string Ask(const ResourceClaim& claim) { return Ask(std::vector{claim}); }

  static std::string Text(const Outcome& outcome) {
    switch (outcome.verdict) {
      case Outcome::Verdict::kFits:
        break;
      case Outcome::Verdict::kDoesNotFit:
        return "no fit";
      case Outcome::Verdict::kNodeError:
        return "node error";
      case Outcome::Verdict::kError:
        return "error";
      case Outcome::Verdict::kCannotTell:
        return "cannot tell";
    }
    std::string text;
    for (const Allocation& allocation : outcome.allocations) {
      if (!text.empty()) text += "| ";
      for (const AllocatedDevice& device : allocation.devices)
        text += device.request + "=" + device.id.device + " ";
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

  Node node{.name = "node-1"};
  std::vector<ResourceSlice> slices;
  std::vector<TaintRule> rules;
  DeviceClasses classes;
  std::vector<Allocation> allocated;
  Options options;
  TestEngine engine;
  Outcome outcome;  // of the last question
};

}  // namespace galen::alloc
