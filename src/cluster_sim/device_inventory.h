// What devices the drivers offer, read out of ResourceSlices: of each pool only the newest
// generation, and whether it is there as a whole. Taints of slices and of DeviceTaintRules are
// added up. Never changes: made anew when slices or rules do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/claim.h"
#include "model/device.h"
#include "model/taint.h"

namespace galen::cluster_sim {

// Which nodes can use a device.
struct NodeScope {
  std::string node;  // one by name, or
  bool all = false;  // every one, or
  Json selector;     // those that a core/v1 NodeSelector matches

  bool operator==(const NodeScope&) const = default;
};

bool Covers(const NodeScope& scope, const Json& node);

struct OfferedDevice {
  DeviceId id;
  NodeScope scope;
  std::vector<DeviceTaint> taints;
  // A feature it needs that first fit lacks ("shared counters"); "" = it can be handed out.
  std::string unsupported;
};

// One pool of one driver at its newest generation.
struct DevicePool {
  std::string driver;
  std::string name;
  std::int64_t generation = 0;
  std::int64_t slices_seen = 0;
  std::int64_t slices_wanted = 0;
  std::vector<OfferedDevice> devices;

  bool complete() const { return slices_seen == slices_wanted; }
};

class DeviceInventory {
 public:
  // `slices` and `rules` are resource.k8s.io/v1 objects.
  DeviceInventory(const std::map<ObjectKey, Json>& slices, const std::map<ObjectKey, Json>& rules);
  DeviceInventory(const DeviceInventory&) = delete;

  // Pools with at least one device that `node` can use; first those of this node alone.
  std::vector<const DevicePool*> PoolsFor(const Json& node) const;

 private:
  using PoolName = std::pair<std::string, std::string>;  // driver, pool

  void AddSlice(const Json& slice);
  void AddDevice(DevicePool& pool, const Json& spec, const Json& device);
  void ApplyRules(const std::map<ObjectKey, Json>& rules);

  std::map<PoolName, DevicePool> pools_;
  std::map<std::string, std::vector<const DevicePool*>> of_one_node_;
  std::vector<const DevicePool*> of_many_nodes_;
};

}  // namespace galen::cluster_sim
