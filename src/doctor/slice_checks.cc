#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

using PoolKey = std::pair<std::string, std::string>;  // driver, pool

// The slices of one pool of this node.
struct Pool {
  std::int64_t newest = 0;
  // number of slices in the newest generation, as its slices give it
  std::int64_t promised = 0;
  std::vector<std::string> outdated;  // names of slices of older generations
};

std::map<PoolKey, Pool> PoolsOf(const std::vector<kube::ResourceSlice>& slices) {
  std::map<PoolKey, Pool> pools;
  for (const kube::ResourceSlice& slice : slices) {
    Pool& pool = pools[{slice.driver, slice.pool}];
    pool.newest = std::max(pool.newest, slice.generation);
  }
  for (const kube::ResourceSlice& slice : slices) {
    Pool& pool = pools[{slice.driver, slice.pool}];
    if (slice.generation == pool.newest) {
      pool.promised = std::max(pool.promised, slice.slice_count);
    } else {
      pool.outdated.push_back(Shown(slice.name));
    }
  }
  return pools;
}

// A pool is identified with its driver: two drivers may both name theirs after the node.
std::string Named(const PoolKey& key) {
  return fmt::format("pool {} of {}", Shown(key.second), Shown(key.first));
}

// OK if the registry was read completely; else the reason.
Status RegistryRead(const Observations& seen) {
  if (!seen.registry.ok()) return seen.registry.status();
  for (const RegistryEntry& entry : *seen.registry) {
    if (entry.connected.code() == Code::kPermissionDenied) return entry.connected;
  }
  return OkStatus();
}

// A driver that serves but publishes nothing looks healthy on its own socket.
Outcome JudgeMissingSlices(const Observations& seen) {
  if (!seen.registry.ok()) return Unknown(seen.registry.status());
  if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
  std::set<std::string> publishing;
  for (const kube::ResourceSlice& slice : *seen.api.slices) publishing.insert(slice.driver);
  // Devices that several nodes reach are in slices without a node.
  if (seen.api.all_slices.ok()) {
    for (const SlicePlace& slice : *seen.api.all_slices) {
      if (slice.node.empty()) publishing.insert(slice.driver);
    }
  }
  std::vector<std::string> found;
  for (const std::string& driver : seen.LiveDrivers()) {
    // The driver may offer all its devices there.
    if (seen.kubelet.device_plugins.contains(driver)) continue;
    if (!publishing.contains(driver)) found.push_back(Shown(driver) + " has no ResourceSlice here");
  }
  return Judged(Level::kBad, found, Counted(seen.api.slices->size(), "slice"));
}

// For the scheduler a driver without sockets is gone only after the kubelet has wiped its slices.
Outcome JudgeOrphaned(const Observations& seen) {
  if (const Status read = RegistryRead(seen); !read.ok()) return Unknown(read);
  if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
  const std::set<std::string> live = seen.LiveDrivers();
  std::vector<std::string> found;
  for (const kube::ResourceSlice& slice : *seen.api.slices) {
    if (live.contains(slice.driver)) continue;
    found.push_back(fmt::format("{} offers {} of {}, which does not run here", Shown(slice.name),
                                Counted(slice.devices.size(), "device"), Shown(slice.driver)));
  }
  if (const Status all = seen.AllAnswered(); !found.empty() && !all.ok()) return Unknown(all);
  return Judged(Level::kBad, found, Counted(seen.api.slices->size(), "slice"));
}

// KEP-4381: a pool changes by slices of the next generation, made before the old ones are removed.
Outcome JudgeGenerations(const Observations& seen) {
  if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
  std::vector<std::string> found;
  for (const auto& [key, pool] : PoolsOf(*seen.api.slices)) {
    if (pool.outdated.empty()) continue;
    found.push_back(fmt::format("{} is at generation {}, and {} is older", Named(key), pool.newest,
                                Listed(pool.outdated)));
  }
  return Judged(Level::kWarning, found, Counted(seen.api.slices->size(), "slice"));
}

// Slices of a pool's newest generation, those for other nodes included.
std::int64_t CountOf(const Observations& seen, const PoolKey& key, std::int64_t generation) {
  const auto counts = [&](const auto& slice) {
    return slice.driver == key.first && slice.pool == key.second && slice.generation == generation;
  };
  if (seen.api.all_slices.ok()) return std::ranges::count_if(*seen.api.all_slices, counts);
  return std::ranges::count_if(*seen.api.slices, counts);
}

// Compared with the number in the newest slices, since one of them may be missing.
Outcome JudgeComplete(const Observations& seen) {
  if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
  std::vector<std::string> found;
  for (const auto& [key, pool] : PoolsOf(*seen.api.slices)) {
    const std::int64_t count = CountOf(seen, key, pool.newest);
    if (count == pool.promised) continue;
    found.push_back(fmt::format("{} is to have {} of generation {}, and has {}", Named(key),
                                Counted(static_cast<std::size_t>(pool.promised), "slice"),
                                pool.newest, count));
  }
  return Judged(Level::kBad, found, Counted(PoolsOf(*seen.api.slices).size(), "pool"));
}

// The API server checks names within a slice; only the scheduler compares across slices.
Outcome JudgeDuplicateSliceDevices(const Observations& seen) {
  if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
  const std::map<PoolKey, Pool> pools = PoolsOf(*seen.api.slices);
  std::map<PoolKey, std::set<std::string>> names;
  std::vector<std::string> found;
  for (const kube::ResourceSlice& slice : *seen.api.slices) {
    const PoolKey key{slice.driver, slice.pool};
    if (slice.generation != pools.at(key).newest) continue;
    for (const kube::SliceDevice& device : slice.devices) {
      if (!names[key].insert(device.name).second) {
        found.push_back(fmt::format("{} is in {} twice", Shown(device.name), Named(key)));
      }
    }
  }
  return Judged(Level::kBad, found, Counted(pools.size(), "pool"));
}

// The only check of other nodes: their own doctor cannot run any more.
Outcome JudgeNodeGone(const Observations& seen) {
  if (!seen.api.all_slices.ok()) return Unknown(seen.api.all_slices.status());
  if (!seen.api.nodes.ok()) return Unknown(seen.api.nodes.status());
  std::vector<std::string> found;
  for (const SlicePlace& slice : *seen.api.all_slices) {
    if (slice.node.empty() || seen.api.nodes->contains(slice.node)) continue;
    found.push_back(fmt::format("{} of {} is for node {}, which is gone", Shown(slice.name),
                                Shown(slice.driver), Shown(slice.node)));
  }
  return Judged(Level::kWarning, found, Counted(seen.api.all_slices->size(), "slice"));
}

}  // namespace

std::vector<Check> SliceChecks() {
  return {
      {"slices.missing", Level::kBad, "Each driver that runs here has published its devices",
       "The scheduler does not know the devices: nothing that needs them is placed here.",
       "Look at the driver's log for what the API server refused; start the driver again. A "
       "kubelet that starts removes all slices of its node, and drivers must make them anew.",
       JudgeMissingSlices},
      // dra/manager.go: defaultWipingDelay 30 s.
      {"slices.orphaned", Level::kBad, "No devices are offered whose driver does not run here",
       "Pods are placed here for devices that nobody can prepare, and do not start. The kubelet "
       "removes such slices after 30 s, unless it does not know that driver.",
       "Start the driver again; if it is gone for good, delete its slices: kubectl delete "
       "resourceslice NAME.",
       JudgeOrphaned},
      {"slices.generations", Level::kWarning, "Each pool's slices are of one generation",
       "The driver is in the middle of an update, or left old slices behind. Readers ignore them, "
       "once the newest generation is complete.",
       "If it stays so for a minute, delete the older slices.", JudgeGenerations},
      // resource/v1, ResourcePool.resourceSliceCount: an incomplete pool is not allocated from.
      {"slices.complete", Level::kBad, "Each pool has as many slices as it says",
       "The scheduler takes no device of a pool that is not complete.",
       "If it stays so for a minute, start the driver again: it publishes what is missing.",
       JudgeComplete},
      {"slices.duplicates", Level::kBad, "Each device is in its pool once",
       "The scheduler refuses the whole pool.",
       "Mend the driver: names are unique within a pool, over all of its slices.",
       JudgeDuplicateSliceDevices},
      {"slices.node-gone", Level::kWarning, "No slice names a node that is gone",
       "Its devices cannot be used. Slices that their Node owns go with it; these do not.",
       "Delete them: kubectl delete resourceslice NAME.", JudgeNodeGone},
  };
}

}  // namespace galen::doctor
