// The devices that drivers offer, read from ResourceSlices: each pool's newest generation only, and
// whether it is complete. Taints of slices and of DeviceTaintRules are added up. Immutable: made
// anew when slices or rules change. Values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/data/json.h"
#include "model/claim.h"
#include "model/device.h"
#include "model/taint.h"

namespace galen::cluster_sim {

// Which nodes can use a device; one of the three members is set.
struct NodeScope {
  std::string node;  // one by name, or
  bool all = false;  // every one, or
  Json selector;     // those that a core/v1 NodeSelector matches

  bool operator==(const NodeScope&) const = default;
};

// Whether the scope includes `node`, a v1 Node.
bool Covers(const NodeScope& scope, const Json& node);

// One device of a slice.
struct OfferedDevice {
  DeviceId id;
  NodeScope scope;
  // The driver's own, and those of rules that select the device; a taint may appear twice.
  std::vector<DeviceTaint> taints;
  // A feature that the device needs and first fit lacks ("shared counters"); "": none.
  std::string unsupported;
};

// One pool of one driver at its newest generation. Not used until every slice of that generation
// was seen: a wanted device may be in a missing one.
struct DevicePool {
  std::string driver;
  std::string name;
  std::int64_t generation = 0;
  std::int64_t slices_seen = 0;
  // spec.pool.resourceSliceCount of the slice that was read last.
  std::int64_t slices_wanted = 0;
  std::vector<OfferedDevice> devices;

  bool complete() const { return slices_seen == slices_wanted; }
};

class DeviceInventory {
 public:
  // `slices` and `rules` are resource.k8s.io/v1 objects by key; not kept after the call.
  DeviceInventory(const std::map<ObjectKey, Json>& slices, const std::map<ObjectKey, Json>& rules);
  DeviceInventory(const DeviceInventory&) = delete;

  // Pools with at least one device that `node` can use; first those of this node alone, so that
  // devices that only this node has are used before ones that others could have. Each group in
  // order of driver and pool. Incomplete pools are among them. The pools exist as long as this.
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
