// Tested by inventory_test.cc.
#include "alloc/selection/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace galen::alloc {
namespace {

// Since this release pools with binding conditions come last.
constexpr int kBindingOrderMinor = 36;

using SliceList = std::vector<std::uint32_t>;

// Only the newest generation of what the node sees counts.
void KeepNewest(const PoolSource& source, SliceList& slices) {
  std::int64_t newest = source.slices[slices.front()].generation;
  for (const std::uint32_t index : slices)
    newest = std::max(newest, source.slices[index].generation);
  std::erase_if(slices,
                [&](std::uint32_t index) { return source.slices[index].generation < newest; });
}

bool UsesCompatibilityGroups(const ResourceSlice& slice) {
  for (const Device& device : slice.devices) {
    for (const CounterConsumption& use : device.consumes_counters) {
      if (!use.compatibility_groups.empty()) return true;
    }
  }
  return false;
}

// All slices of the pool of this generation, wherever they are for; nullopt: there is a newer one.
std::optional<SliceList> WholePool(const PoolSource& source, const PoolSlices& group,
                                   std::int64_t generation) {
  SliceList whole;
  for (const std::uint32_t index : group.slices) {
    const ResourceSlice& slice = source.slices[index];
    if (slice.generation > generation) return std::nullopt;
    if (slice.generation == generation && !IsIgnored(slice, source.options)) whole.push_back(index);
  }
  return whole;
}

// A counter that is named twice is charged with the sum.
void AddCharge(CounterUse& use, std::uint32_t counter, Amount amount) {
  for (CounterUse::Charge& charge : use.charges) {
    if (charge.counter == counter) {
      charge.amount += amount;
      return;
    }
  }
  use.charges.push_back({counter, amount});
}

bool IsCounterSlice(const ResourceSlice& slice, const Options& options) {
  return options.minor > kOldestMinor && options.features.partitionable_devices &&
         !slice.shared_counters.empty();
}

// Makes the counters of a pool from its slices, ascending by index.
class CounterBuilder {
 public:
  explicit CounterBuilder(const PoolSource& source) : source_(source) {}

  std::unique_ptr<PoolCounters> Build(const SliceList& slices) {
    if (source_.options.minor == kOldestMinor) {
      AddBySlice(slices);
      return std::move(result_);
    }
    for (const std::uint32_t index : slices) {
      if (IsCounterSlice(source_.slices[index], source_.options)) AddSets(source_.slices[index]);
    }
    for (const std::uint32_t index : slices) {
      if (!IsCounterSlice(source_.slices[index], source_.options)) AddUses(index, 0);
    }
    return std::move(result_);
  }

 private:
  void Refuse(std::string reason) {
    if (result_->invalid_reason.empty()) result_->invalid_reason = std::move(reason);
  }

  // Counters live and end with the slice.
  void AddBySlice(const SliceList& slices) {
    for (const std::uint32_t index : slices) {
      const auto first = static_cast<std::uint32_t>(result_->counters.size());
      sets_.clear();
      AddSets(source_.slices[index]);
      result_->invalid_reason.clear();
      AddUses(index, first);
    }
  }

  void AddSets(const ResourceSlice& slice) {
    for (const CounterSet& set : slice.shared_counters) {
      auto [at, added] = sets_.try_emplace(set.name);
      if (!added) return Refuse(fmt::format("counter set {} is there twice", set.name));
      for (const auto& [name, value] : set.counters) {
        at->second.emplace(name, static_cast<std::uint32_t>(result_->counters.size()));
        result_->counters.push_back(value.nano());
      }
    }
  }

  void AddUses(std::uint32_t slice, std::uint32_t first) {
    std::uint32_t entry = source_.first_entry[slice];
    for (const Device& consumer : source_.slices[slice].devices) {
      const std::uint32_t number = entry++;
      if (consumer.consumes_counters.empty()) continue;
      CounterUse use = Resolve(consumer);
      use.first = first;
      use.last = static_cast<std::uint32_t>(result_->counters.size());
      result_->consumers.emplace_back(number, std::move(use));
    }
  }

  CounterUse Resolve(const Device& device) {
    CounterUse use;
    const bool strict = source_.options.minor > kOldestMinor;
    for (const CounterConsumption& consumption : device.consumes_counters) {
      const auto set = sets_.find(consumption.counter_set);
      if (set == sets_.end()) {
        if (strict) Refuse(fmt::format("there is no counter set {}", consumption.counter_set));
        continue;
      }
      for (const auto& [name, amount] : consumption.counters) {
        const auto counter = set->second.find(name);
        if (counter != set->second.end())
          AddCharge(use, counter->second, amount.nano());
        else if (strict)
          Refuse(fmt::format("counter set {} has no counter {}", consumption.counter_set, name));
      }
    }
    return use;
  }

  const PoolSource& source_;
  std::unique_ptr<PoolCounters> result_ = std::make_unique<PoolCounters>();
  std::unordered_map<std::string, std::unordered_map<std::string, std::uint32_t>> sets_;
};

void RefusePool(PoolView& view, std::string reason) {
  if (view.invalid) return;
  view.invalid = true;
  view.invalid_reason = std::move(reason);
}

// `slices` in upstream's order.
void AddDevices(const PoolSource& source, const SliceList& slices, PoolView& view) {
  std::unordered_set<std::string_view> names;
  for (const std::uint32_t index : slices) {
    if (IsCounterSlice(source.slices[index], source.options)) continue;
    std::uint32_t entry = source.first_entry[index];
    for (const Device& device : source.slices[index].devices) {
      if (!names.insert(device.name).second)
        RefusePool(view, fmt::format("device {} is there twice", device.name));
      if (!device.binding_conditions.empty()) view.has_binding_conditions = true;
      view.devices.push_back(entry++);
    }
  }
  view.uses.resize(view.devices.size());
}

const CounterUse* UseOf(const PoolCounters& counters, std::uint32_t entry) {
  const auto at = std::lower_bound(
      counters.consumers.begin(), counters.consumers.end(), entry,
      [](const auto& consumer, std::uint32_t wanted) { return consumer.first < wanted; });
  return at != counters.consumers.end() && at->first == entry ? &at->second : nullptr;
}

// `slices` are all of which the counters are.
void AddCounters(const PoolSource& source, SliceList slices, CountersBySlices& known,
                 PoolView& view) {
  std::sort(slices.begin(), slices.end());
  std::unique_ptr<PoolCounters>& counters = known[slices];
  if (counters == nullptr) counters = CounterBuilder(source).Build(slices);
  view.counters = counters.get();
  if (!counters->invalid_reason.empty()) RefusePool(view, counters->invalid_reason);
  for (std::size_t i = 0; i < view.devices.size(); ++i)
    view.uses[i] = UseOf(*counters, view.devices[i]);
}

void SortByName(const PoolSource& source, SliceList& slices) {
  std::stable_sort(slices.begin(), slices.end(), [&source](std::uint32_t a, std::uint32_t b) {
    return source.slices[a].name < source.slices[b].name;
  });
}

}  // namespace

bool IsIgnored(const ResourceSlice& slice, const Options& options) {
  return options.minor >= 37 && !options.features.compatibility_groups &&
         UsesCompatibilityGroups(slice);
}

std::unique_ptr<PoolView> MakePoolView(const PoolSource& source, const PoolSlices& group,
                                       std::uint32_t group_index, SliceList reached,
                                       CountersBySlices& counters) {
  if (reached.empty()) return nullptr;
  KeepNewest(source, reached);
  auto view = std::make_unique<PoolView>();
  view->group = group_index;
  const std::int64_t wanted = source.slices[reached.front()].slice_count;
  const auto is_whole = [wanted](const SliceList& slices) {
    return static_cast<std::int64_t>(slices.size()) == wanted;
  };
  SliceList whole = reached;
  if (source.options.minor == kOldestMinor) {
    view->incomplete = !is_whole(reached);
  } else if (!is_whole(reached)) {
    auto of_all = WholePool(source, group, source.slices[reached.front()].generation);
    if (!of_all) return nullptr;
    view->incomplete = !is_whole(*of_all);
    if (view->incomplete) return view;
    whole = std::move(*of_all);
  }
  SortByName(source, reached);
  AddDevices(source, reached, *view);
  if (!view->invalid && source.options.features.partitionable_devices)
    AddCounters(source, std::move(whole), counters, *view);
  return view;
}

NodeView MakeNodeView(std::vector<const PoolView*> pools, const Options& options) {
  NodeView view{.pools = std::move(pools)};
  std::stable_partition(view.pools.begin(), view.pools.end(), [&options](const PoolView* pool) {
    // A pool that is not usable has no devices to look at.
    return options.minor < kBindingOrderMinor || pool->invalid || pool->incomplete ||
           !pool->has_binding_conditions;
  });
  const bool skips = options.minor > kOldestMinor;
  for (std::uint32_t i = 0; i < view.pools.size(); ++i) {
    const PoolView& pool = *view.pools[i];
    if (pool.invalid) view.has_invalid_pool = true;
    if (pool.invalid && !skips)
      view.invalid_at =
          std::min(view.invalid_at, static_cast<std::uint32_t>(view.candidates.size()));
    if (skips && (pool.invalid || pool.incomplete)) continue;
    for (std::size_t d = 0; d < pool.devices.size(); ++d) {
      view.candidates.push_back({.entry = pool.devices[d], .pool = i, .use = pool.uses[d]});
    }
  }
  return view;
}

}  // namespace galen::alloc
