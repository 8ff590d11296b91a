#include "alloc/selection/inventory.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace galen::alloc {
namespace {

// In 1.35 and 1.36 every node sees the slices with counters of every pool.
bool SeesAllCounterSlices(const Options& options) {
  return (options.minor == 35 || options.minor == 36) && options.features.partitionable_devices;
}

// A requirement that names the label's values, so that the nodes of a slice can be looked up.
const NodeRequirement* IndexableRequirement(const NodeSelector& selector) {
  if (selector.terms.size() != 1) return nullptr;
  for (const NodeRequirement& requirement : selector.terms.front().expressions) {
    if (requirement.op == NodeRequirement::Operator::kIn) return &requirement;
  }
  return nullptr;
}

// The one node that a selector of metadata.name names; null: it is not of that form. What such a
// requirement may hold is validated apart.
const std::string* NodeOfSelector(const NodeSelector& selector) {
  if (selector.terms.size() != 1) return nullptr;
  for (const NodeRequirement& requirement : selector.terms.front().fields) {
    if (requirement.op == NodeRequirement::Operator::kIn && requirement.key == "metadata.name" &&
        requirement.values.size() == 1)
      return &requirement.values.front();
  }
  return nullptr;
}

std::string IdentityKey(const std::string& driver, const std::string& pool,
                        const std::string& device) {
  std::string key;
  key.reserve(driver.size() + pool.size() + device.size() + 2);
  key += driver;
  key += '\n';
  key += pool;
  key += '\n';
  key += device;
  return key;
}

bool IsPlain(const DeviceCapacity& capacity) {
  return !capacity.policy && capacity.value.Sign() >= 0;
}

}  // namespace

std::unique_ptr<const Inventory> Inventory::Create(std::vector<ResourceSlice> slices,
                                                   const std::vector<TaintRule>& rules,
                                                   const Options& options) {
  std::unique_ptr<Inventory> inventory(new Inventory(options));
  inventory->slices_ = std::move(slices);
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> pools;
  for (std::uint32_t i = 0; i < inventory->slices_.size(); ++i) {
    inventory->AddSlice(i, rules);
    const ResourceSlice& slice = inventory->slices_[i];
    pools[{slice.driver, slice.pool}].push_back(i);
  }
  inventory->first_entry_.push_back(static_cast<std::uint32_t>(inventory->entries_.size()));
  for (auto& [name, members] : pools)
    inventory->groups_.push_back({name.first, name.second, std::move(members)});
  for (std::uint32_t i = 0; i < inventory->groups_.size(); ++i) inventory->IndexGroup(i);
  for (auto& [node, view] : inventory->local_views_)
    view = MakeNodeView(std::move(view.pools), options);
  return inventory;
}

void Inventory::AddSlice(std::uint32_t index, const std::vector<TaintRule>& rules) {
  first_entry_.push_back(static_cast<std::uint32_t>(entries_.size()));
  const ResourceSlice& slice = slices_[index];
  const NodeScope& nodes = slice.nodes;
  if (Counts(slice) && bad_selector_.ok() && !HasNode(nodes) && !nodes.all && nodes.selector) {
    bad_selector_ = Annotate(Validate(*nodes.selector), "ResourceSlice {}", slice.name);
  }
  std::vector<const TaintRule*> of_slice;
  for (const TaintRule& rule : rules) {
    if (SelectsFrom(rule, slice)) of_slice.push_back(&rule);
  }
  for (const Device& device : slice.devices) AddEntry(index, device, of_slice);
}

void Inventory::AddEntry(std::uint32_t slice, const Device& device,
                         const std::vector<const TaintRule*>& rules) {
  const ResourceSlice& owner = slices_[slice];
  const auto number = static_cast<std::uint32_t>(entries_.size());
  DeviceEntry entry{.device = &device,
                    .slice = &owner,
                    .slice_index = slice,
                    .allows_shares = device.facts.allow_multiple_allocations,
                    .consumes_counters = !device.consumes_counters.empty(),
                    .has_binding_conditions = !device.binding_conditions.empty(),
                    .selects_nodes = owner.per_device_node_selection.value_or(false),
                    .skips_node_operations = !owner.skip_node_operations.empty()};
  entry.identity = identities_
                       .try_emplace(IdentityKey(owner.driver, owner.pool, device.name),
                                    static_cast<std::uint32_t>(identities_.size()))
                       .first->second;
  AddFacts(device, entry);
  const auto keep = [&](const DeviceTaint& taint) {
    if (taint.effect == TaintEffect::kNone) return;
    entry.has_blocking_taints = true;
    taints_[number].push_back(taint);
  };
  for (const DeviceTaint& taint : device.taints) keep(taint);
  for (const TaintRule* rule : rules) {
    if (!rule->device || *rule->device == device.name) keep(rule->taint);
  }
  entries_.push_back(entry);
}

void Inventory::AddFacts(const Device& device, DeviceEntry& entry) {
  entry.facts_begin = static_cast<std::uint32_t>(facts_.size());
  for (const auto& [name, value] : device.facts.attributes) {
    facts_.push_back({interner_.AddAttributeName(name), interner_.AddValue(value)});
    if (std::holds_alternative<UnknownKind>(value)) entry.has_unknown_kind = true;
  }
  for (const auto& [name, value] : device.facts.capacity)
    facts_.push_back({interner_.AddCapacityName(name), interner_.AddValue(value)});
  entry.facts_end = static_cast<std::uint32_t>(facts_.size());
  entry.plain_capacity = std::all_of(device.capacity.begin(), device.capacity.end(), IsPlain);
}

bool Inventory::Counts(const ResourceSlice& slice) const {
  if (!options_.features.partitionable_devices &&
      (slice.per_device_node_selection ||
       (options_.minor > kOldestMinor && !slice.shared_counters.empty())))
    return false;
  return !IsIgnored(slice, options_);
}

void Inventory::IndexGroup(std::uint32_t group) {
  const PoolSlices& pool = groups_[group];
  const bool local = std::all_of(pool.slices.begin(), pool.slices.end(), [this](std::uint32_t i) {
    return HasNode(slices_[i].nodes) &&
           !(SeesAllCounterSlices(options_) && !slices_[i].shared_counters.empty());
  });
  if (!local) return IndexSharedGroup(group);
  std::map<std::string, std::vector<std::uint32_t>> by_node;
  for (const std::uint32_t index : pool.slices) {
    if (Counts(slices_[index])) by_node[*slices_[index].nodes.node].push_back(index);
  }
  for (auto& [node, reached] : by_node) {
    auto view = MakePoolView({slices_, first_entry_, options_}, pool, group, std::move(reached),
                             local_counters_);
    if (!view) continue;
    local_views_[node].pools.push_back(view.get());
    local_pools_.push_back(std::move(view));
  }
}

void Inventory::IndexSharedGroup(std::uint32_t group) {
  for (const std::uint32_t index : groups_[group].slices) {
    const ResourceSlice& slice = slices_[index];
    const NodeScope& nodes = slice.nodes;
    if (!Counts(slice)) continue;
    const std::string* named = nodes.selector ? NodeOfSelector(*nodes.selector) : nullptr;
    const NodeRequirement* label = nodes.selector ? IndexableRequirement(*nodes.selector) : nullptr;
    if (SeesAllCounterSlices(options_) && !slice.shared_counters.empty()) {
      groups_for_all_.push_back(group);
    } else if (HasNode(nodes)) {
      groups_by_node_[*nodes.node].push_back(group);
    } else if (!nodes.all && named != nullptr) {
      groups_by_node_[*named].push_back(group);
    } else if (!nodes.all && label != nullptr) {
      for (const std::string& value : label->values)
        groups_by_label_[label->key][value].push_back(group);
    } else if (nodes.all || nodes.selector || slice.per_device_node_selection.value_or(false)) {
      groups_for_all_.push_back(group);
    }
  }
}

std::uint32_t Inventory::IdentityOf(const DeviceId& id) const {
  const auto at = identities_.find(IdentityKey(id.driver, id.pool, id.device));
  return at == identities_.end() ? kNoIdentity : at->second;
}

std::uint32_t Inventory::ValueOf(std::uint32_t entry, std::uint32_t name) const {
  const DeviceEntry& device = entries_[entry];
  for (std::uint32_t i = device.facts_begin; i < device.facts_end; ++i) {
    if (facts_[i].name == name) return facts_[i].value;
  }
  return Interner::kAbsent;
}

std::span<const DeviceTaint> Inventory::TaintsOf(std::uint32_t entry) const {
  if (!entries_[entry].has_blocking_taints) return {};
  return taints_.at(entry);
}

StatusOr<bool> Inventory::SliceReaches(const ResourceSlice& slice, const Node& node) const {
  if (!Counts(slice)) return false;
  if (SeesAllCounterSlices(options_) && !slice.shared_counters.empty()) return true;
  if (HasNode(slice.nodes)) return *slice.nodes.node == node.name;
  if (slice.nodes.all) return true;
  // Validated when it was added: with bad_selector_ nobody asks.
  if (slice.nodes.selector) return Matches(*slice.nodes.selector, node);
  if (!slice.per_device_node_selection.value_or(false)) return false;
  for (const Device& device : slice.devices) {
    auto matches = Reaches(device.nodes, node);
    if (!matches.ok())
      return Annotate(matches.status(), "ResourceSlice {}, device {}", slice.name, device.name);
    if (*matches) return true;
  }
  return false;
}

// Upstream lists slices of nodes first, then the others.
StatusOr<std::vector<std::uint32_t>> Inventory::SlicesFor(std::uint32_t group,
                                                          const Node& node) const {
  std::vector<std::uint32_t> of_node, others;
  for (const std::uint32_t index : groups_[group].slices) {
    ASSIGN_OR_RETURN(const bool reaches, SliceReaches(slices_[index], node));
    if (reaches) (HasNode(slices_[index].nodes) ? of_node : others).push_back(index);
  }
  of_node.insert(of_node.end(), others.begin(), others.end());
  return of_node;
}

std::vector<std::uint32_t> Inventory::SharedGroupsFor(const Node& node) const {
  std::vector<std::uint32_t> groups = groups_for_all_;
  const auto add = [&groups](const auto& table, const std::string& key) {
    const auto at = table.find(key);
    if (at != table.end()) groups.insert(groups.end(), at->second.begin(), at->second.end());
  };
  add(groups_by_node_, node.name);
  for (const auto& [label, groups_by_value] : groups_by_label_) {
    const auto at = node.labels.find(label);
    if (at != node.labels.end()) add(groups_by_value, at->second);
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

StatusOr<const NodeView*> Inventory::ViewOf(const Node& node, PoolCache& cache) const {
  RETURN_IF_ERROR(bad_selector_);
  const auto local = local_views_.find(node.name);
  const NodeView& prepared = local == local_views_.end() ? empty_view_ : local->second;
  const std::vector<std::uint32_t> shared = SharedGroupsFor(node);
  if (shared.empty()) return &prepared;
  std::vector<const PoolView*> pools = prepared.pools;
  for (const std::uint32_t group : shared) {
    ASSIGN_OR_RETURN(std::vector<std::uint32_t> reached, SlicesFor(group, node));
    if (reached.empty()) continue;
    auto [at, added] = cache.pools.try_emplace(reached);
    if (added)
      at->second = MakePoolView({slices_, first_entry_, options_}, groups_[group], group,
                                std::move(reached), cache.counters);
    if (at->second) pools.push_back(at->second.get());
  }
  std::stable_sort(pools.begin(), pools.end(),
                   [](const PoolView* a, const PoolView* b) { return a->group < b->group; });
  cache.view = MakeNodeView(std::move(pools), options_);
  return &cache.view;
}

}  // namespace galen::alloc
