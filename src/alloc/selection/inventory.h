// The devices of a cluster, prepared once for many questions: names and values as numbers, devices
// by node, taints of rules added, pools of one node alone built. Immutable after creation; any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "alloc/objects/node_selector.h"
#include "alloc/objects/resource_slice.h"
#include "alloc/selection/interner.h"
#include "alloc/selection/options.h"
#include "alloc/selection/pool.h"
#include "base/status.h"
#include "model/device.h"

namespace galen::alloc {

// A device of a slice; the same device in slices of two generations is two entries.
struct DeviceEntry {
  const Device* device = nullptr;
  const ResourceSlice* slice = nullptr;
  std::uint32_t slice_index = 0;
  std::uint32_t identity = 0;  // the same for entries of the same driver, pool and name
  // Its facts among Inventory::facts().
  std::uint32_t facts_begin = 0;
  std::uint32_t facts_end = 0;
  // Upstream refuses to evaluate selectors on it: an attribute is of an unknown kind.
  bool has_unknown_kind = false;
  // No capacity has a policy or is negative: without a request for capacity it is had as a whole.
  bool plain_capacity = true;
  // What most searches ask of the device and of its slice, so that they need not look there.
  bool allows_shares = false;
  bool consumes_counters = false;
  bool has_binding_conditions = false;
  bool has_blocking_taints = false;
  bool selects_nodes = false;          // the slice, by device
  bool skips_node_operations = false;  // the slice
};

// What a selector or a constraint reads: a name of Interner, and the value's number. Equal numbers
// are equal values.
struct Fact {
  std::uint32_t name;
  std::uint32_t value;
};

class Inventory {
 public:
  // Keeps the slices. Never fails: what is wrong with a pool is found when a node asks for it.
  static std::unique_ptr<const Inventory> Create(std::vector<ResourceSlice> slices,
                                                 const std::vector<TaintRule>& rules,
                                                 const Options& options);
  Inventory(const Inventory&) = delete;

  const Options& options() const { return options_; }
  const std::vector<ResourceSlice>& slices() const { return slices_; }
  const std::vector<DeviceEntry>& entries() const { return entries_; }
  // The entries of a slice, by index, lie together, in the order of its devices.
  std::uint32_t FirstEntryOf(std::uint32_t slice) const { return first_entry_[slice]; }
  DeviceId IdOf(std::uint32_t entry) const {
    return {entries_[entry].slice->driver, entries_[entry].slice->pool,
            entries_[entry].device->name};
  }
  // All pools, in order of driver and pool: their slices by index, in the order given.
  const std::vector<PoolSlices>& groups() const { return groups_; }

  // The identity of a device that some slice has; kNoIdentity: none has it.
  static constexpr std::uint32_t kNoIdentity = 0xffffffff;
  std::uint32_t IdentityOf(const DeviceId& id) const;
  std::size_t identity_count() const { return identities_.size(); }

  const Interner& interner() const { return interner_; }
  // The value's number that the entry has under the name; 0: it has none.
  std::uint32_t ValueOf(std::uint32_t entry, std::uint32_t name) const;
  // The taints that block allocation unless they are tolerated (NoSchedule, NoExecute): first those
  // of the slice, then those of DeviceTaintRules.
  std::span<const DeviceTaint> TaintsOf(std::uint32_t entry) const;

  // What the node can use. With groups that have to be looked at for this node, the view is built
  // into `cache`; else it was prepared. The view lives as long as the cache and this.
  // InvalidArgument for a node selector that Kubernetes cannot evaluate: upstream then refuses
  // every node.
  StatusOr<const NodeView*> ViewOf(const Node& node, PoolCache& cache) const;

 private:
  explicit Inventory(const Options& options) : options_(options) {}

  void AddSlice(std::uint32_t index, const std::vector<TaintRule>& rules);
  void AddEntry(std::uint32_t slice, const Device& device,
                const std::vector<const TaintRule*>& rules);
  void AddFacts(const Device& device, DeviceEntry& entry);
  void IndexGroup(std::uint32_t group);
  void IndexSharedGroup(std::uint32_t group);
  // Whether the slice is taken into account at all under these gates.
  bool Counts(const ResourceSlice& slice) const;
  StatusOr<bool> SliceReaches(const ResourceSlice& slice, const Node& node) const;
  StatusOr<std::vector<std::uint32_t>> SlicesFor(std::uint32_t group, const Node& node) const;
  std::vector<std::uint32_t> SharedGroupsFor(const Node& node) const;

  const Options options_;
  std::vector<ResourceSlice> slices_;
  std::vector<std::uint32_t> first_entry_;  // by slice; one more at the end
  std::vector<DeviceEntry> entries_;
  std::vector<Fact> facts_;
  Interner interner_;
  std::unordered_map<std::string, std::uint32_t> identities_;
  std::unordered_map<std::uint32_t, std::vector<DeviceTaint>> taints_;  // by entry
  std::vector<PoolSlices> groups_;
  Status bad_selector_;  // the first of a slice

  CountersBySlices local_counters_;
  std::vector<std::unique_ptr<PoolView>> local_pools_;
  std::unordered_map<std::string, NodeView> local_views_;  // by node
  // Groups of which a node may use some slices; which, depends on the node.
  std::vector<std::uint32_t> groups_for_all_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> groups_by_node_;
  std::map<std::string, std::unordered_map<std::string, std::vector<std::uint32_t>>, std::less<>>
      groups_by_label_;
  const NodeView empty_view_;
};

}  // namespace galen::alloc
