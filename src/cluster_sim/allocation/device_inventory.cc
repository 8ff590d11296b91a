#include "cluster_sim/allocation/device_inventory.h"

#include <algorithm>
#include <set>

#include "cluster_sim/allocation/node_selector.h"
#include "cluster_sim/allocation/toleration.h"

namespace galen::cluster_sim {
namespace {

// `holder` is a slice's spec, or a device if each device has its own scope.
NodeScope ReadScope(const Json& holder) {
  return {.node = holder["nodeName"].AsString(),
          .all = holder["allNodes"].AsBool(),
          .selector = holder["nodeSelector"]};
}

// The feature that a device needs and first fit lacks. Allocating such a device without it would be
// wrong.
std::string UnsupportedFeature(const Json& device) {
  if (!device["consumesCounters"].items().empty()) return "shared counters";
  if (device["allowMultipleAllocations"].AsBool()) return "capacity shared by several claims";
  if (!device["bindingConditions"].items().empty()) return "binding conditions";
  return "";
}

// An absent criterion matches every device.
bool Admits(const Json& criterion, const std::string& value) {
  return criterion.is_null() || criterion.AsString() == value;
}

}  // namespace

bool Covers(const NodeScope& scope, const Json& node) {
  if (scope.all) return true;
  if (!scope.node.empty()) return scope.node == node["metadata"]["name"].AsString();
  return MatchesNodeSelector(scope.selector, node);
}

DeviceInventory::DeviceInventory(const std::map<ObjectKey, Json>& slices,
                                 const std::map<ObjectKey, Json>& rules) {
  for (const auto& [key, slice] : slices) AddSlice(slice);
  ApplyRules(rules);
  for (const auto& [name, pool] : pools_) {
    // A pool whose devices all name one node is indexed by that node; with thousands of nodes this
    // avoids a search through all pools for each.
    std::set<std::string> nodes;
    for (const OfferedDevice& device : pool.devices) nodes.insert(device.scope.node);
    if (nodes.size() == 1 && !nodes.begin()->empty()) {
      of_one_node_[*nodes.begin()].push_back(&pool);
    } else {
      of_many_nodes_.push_back(&pool);
    }
  }
}

std::vector<const DevicePool*> DeviceInventory::PoolsFor(const Json& node) const {
  std::vector<const DevicePool*> pools;
  const auto own = of_one_node_.find(node["metadata"]["name"].AsString());
  if (own != of_one_node_.end()) pools = own->second;
  for (const DevicePool* pool : of_many_nodes_) {
    const auto covers = [&node](const OfferedDevice& d) { return Covers(d.scope, node); };
    if (std::any_of(pool->devices.begin(), pool->devices.end(), covers)) pools.push_back(pool);
  }
  return pools;
}

void DeviceInventory::AddSlice(const Json& slice) {
  const Json& spec = slice["spec"];
  const std::string& driver = spec["driver"].AsString();
  const std::string& name = spec["pool"]["name"].AsString();
  const std::int64_t generation = spec["pool"]["generation"].AsInt();
  DevicePool& pool = pools_[{driver, name}];
  // An older slice that its driver has not removed yet.
  if (pool.slices_seen > 0 && generation < pool.generation) return;
  if (pool.slices_seen == 0 || generation > pool.generation) {
    pool = {.driver = driver, .name = name, .generation = generation, .devices = {}};
  }
  ++pool.slices_seen;
  pool.slices_wanted = spec["pool"]["resourceSliceCount"].AsInt();
  for (const Json& device : spec["devices"].items()) AddDevice(pool, spec, device);
}

void DeviceInventory::AddDevice(DevicePool& pool, const Json& spec, const Json& device) {
  const bool own_scope = spec["perDeviceNodeSelection"].AsBool();
  pool.devices.push_back({.id = {pool.driver, pool.name, device["name"].AsString()},
                          .scope = ReadScope(own_scope ? device : spec),
                          .taints = ReadTaints(device["taints"]),
                          .unsupported = UnsupportedFeature(device)});
}

void DeviceInventory::ApplyRules(const std::map<ObjectKey, Json>& rules) {
  for (const auto& [key, rule] : rules) {
    // No selector selects no device, an empty one all (DeviceTaintRuleSpec of resource.k8s.io).
    const Json* selector = rule["spec"].Find("deviceSelector");
    if (selector == nullptr || selector->is_null()) continue;
    const std::vector<DeviceTaint> taints = ReadTaints(Json::MakeArray({rule["spec"]["taint"]}));
    for (auto& [name, pool] : pools_) {
      if (!Admits((*selector)["driver"], pool.driver)) continue;
      if (!Admits((*selector)["pool"], pool.name)) continue;
      for (OfferedDevice& device : pool.devices) {
        if (!Admits((*selector)["device"], device.id.device)) continue;
        device.taints.insert(device.taints.end(), taints.begin(), taints.end());
      }
    }
  }
}

}  // namespace galen::cluster_sim
