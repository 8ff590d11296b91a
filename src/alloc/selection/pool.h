// A pool as one node sees it: which devices it offers there, whether it is whole, and the counters
// that its devices share. Values and the function that builds one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "alloc/objects/resource_slice.h"
#include "alloc/selection/options.h"

namespace galen::alloc {

// The slices of one driver's pool, of all generations, by index.
struct PoolSlices {
  std::string driver;
  std::string pool;
  std::vector<std::uint32_t> slices;
};

// In billionths, as Quantity counts.
using Amount = __int128;

// What a device takes of a pool's counters.
struct CounterUse {
  struct Charge {
    std::uint32_t counter;
    Amount amount;
  };
  std::vector<Charge> charges;
  // The counters that are looked at with it: all of the pool, in 1.34 those of its slice.
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// What the devices of a pool share, and which of them consume it: those of other nodes too.
struct PoolCounters {
  std::string invalid_reason;    // "": nothing is wrong
  std::vector<Amount> counters;  // what each set offers as a whole
  // By entry, ascending.
  std::vector<std::pair<std::uint32_t, CounterUse>> consumers;
};
// By the slices that they are of. A pool of many nodes has them once, not once for each node.
using CountersBySlices = std::map<std::vector<std::uint32_t>, std::unique_ptr<PoolCounters>>;
// For a pool that has no counters or is not built.
inline const PoolCounters kNoCounters;

// A pool as the node sees it.
struct PoolView {
  std::uint32_t group = 0;
  // Slices are missing: the driver is about to publish them.
  bool incomplete = false;
  bool invalid = false;
  std::string invalid_reason;
  // A device here has binding conditions: such pools come after all others.
  bool has_binding_conditions = false;
  std::vector<std::uint32_t> devices;   // entries that the node may reach, in upstream's order
  std::vector<const CounterUse*> uses;  // by device; null: it consumes no counters
  const PoolCounters* counters = &kNoCounters;
};

// A device that a node can use.
struct Candidate {
  std::uint32_t entry = 0;
  std::uint32_t pool = 0;           // index in NodeView::pools
  const CounterUse* use = nullptr;  // null: it consumes no counters
};

// All that a node can use, in the order in which it is tried.
struct NodeView {
  std::vector<const PoolView*> pools;
  std::vector<Candidate> candidates;
  // An invalid pool was among them; where nothing fits, upstream then says that this node failed.
  bool has_invalid_pool = false;
  // In 1.34 a search that comes to this candidate, in an invalid pool, ends with an error.
  std::uint32_t invalid_at = 0xffffffff;
};
// From the pools, in the order of groups.
NodeView MakeNodeView(std::vector<const PoolView*> pools, const Options& options);

// Whether upstream looks away from the slice: it uses compatibility groups, and the gate is off
// (1.37). Its pool is then incomplete.
bool IsIgnored(const ResourceSlice& slice, const Options& options);

// What a pool is built from: the slices and the number of each slice's first entry.
struct PoolSource {
  const std::vector<ResourceSlice>& slices;
  const std::vector<std::uint32_t>& first_entry;
  const Options& options;
};

// The view of a node that `reached` slices of the group reach, in the order in which upstream lists
// them; null: the pool is not seen there. By GatherPools of upstream. `counters` outlive the view,
// which adds its own where no other has added them.
std::unique_ptr<PoolView> MakePoolView(const PoolSource& source, const PoolSlices& group,
                                       std::uint32_t group_index,
                                       std::vector<std::uint32_t> reached,
                                       CountersBySlices& counters);

// Pools that were built for nodes, kept for the next node that sees the same slices. Belongs to one
// thread, to one inventory. Bounded by the slices: a node adds one view for each pool it sees.
struct PoolCache {
  CountersBySlices counters;  // of the pools
  std::map<std::vector<std::uint32_t>, std::unique_ptr<PoolView>> pools;
  NodeView view;  // of the last node asked for
};

}  // namespace galen::alloc
