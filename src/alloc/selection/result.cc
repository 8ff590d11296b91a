#include "alloc/selection/result.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace galen::alloc {
namespace {

// Since this release devices can ask to be bound to the node.
constexpr int kBindsToNodeMinor = 36;
// Since this release a configuration for every request names none.
constexpr int kConfigForAllMinor = 37;

bool HasName(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const DeviceEntry& EntryOfTaken(const ResultSource& source, const Taken& taken) {
  return source.inventory.entries()[source.view.candidates[taken.candidate].entry];
}

AllocatedDevice MakeDevice(const ResultSource& source, const Taken& taken) {
  const Slot& slot = source.demand.slots[taken.slot];
  const DeviceEntry& entry = EntryOfTaken(source, taken);
  const Features& features = source.inventory.options().features;
  AllocatedDevice device{
      .request = slot.name,
      .id = {entry.slice->driver, entry.slice->pool, entry.device->name},
      .admin_access = slot.admin_access,
      .tolerations = slot.wish->tolerations,
      .shared = taken.shared,
      .consumed_capacity = taken.consumed,
  };
  if (features.binding_conditions) {
    device.binding_conditions = entry.device->binding_conditions;
    device.binding_failure_conditions = entry.device->binding_failure_conditions;
  }
  if (features.optional_node_operations)
    device.skip_node_operations = entry.slice->skip_node_operations;
  return device;
}

// The slot of each request that was chosen.
std::vector<const Slot*> ChosenSlots(const ResultSource& source, std::uint32_t claim) {
  std::vector<const Slot*> slots;
  const ClaimPlan& plan = source.demand.claims[claim];
  for (std::uint32_t i = 0; i < plan.requests.size(); ++i) {
    const std::uint32_t chosen = source.search.ChosenOf(claim, i);
    slots.push_back(&source.demand.slots[plan.requests[i].first_slot + chosen]);
  }
  return slots;
}

// Each class's configuration once, with the requests that use the class.
void AddClassConfig(const std::vector<const Slot*>& slots, std::vector<AllocatedConfig>& config) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> known;  // by class: from, to
  for (const Slot* slot : slots) {
    const auto at = known.find(slot->device_class->name);
    if (at != known.end()) {
      for (std::size_t i = at->second.first; i < at->second.second; ++i)
        config[i].requests.push_back(slot->name);
      continue;
    }
    const std::size_t first = config.size();
    for (const Json& configuration : slot->device_class->config)
      config.push_back(
          {.from_class = true, .requests = {slot->name}, .configuration = configuration});
    known[slot->device_class->name] = {first, config.size()};
  }
}

bool Concerns(const AllocatedConfig& config, const ClaimPlan& plan, const Slot& slot) {
  return HasName(config.requests, plan.requests[slot.request].request->name) ||
         HasName(config.requests, slot.name);
}

std::vector<AllocatedConfig> MakeConfig(const ResultSource& source, std::uint32_t claim) {
  const ClaimPlan& plan = source.demand.claims[claim];
  const std::vector<const Slot*> slots = ChosenSlots(source, claim);
  const auto concerns = [&plan](const AllocatedConfig& one) {
    return [&](const Slot* slot) { return Concerns(one, plan, *slot); };
  };
  std::vector<AllocatedConfig> config;
  AddClassConfig(slots, config);
  for (const AllocatedConfig& own : plan.claim->config) {
    if (own.requests.empty() || std::any_of(slots.begin(), slots.end(), concerns(own)))
      config.push_back(own);
  }
  if (source.inventory.options().minor < kConfigForAllMinor) return config;
  for (AllocatedConfig& one : config) {
    if (std::all_of(slots.begin(), slots.end(), concerns(one))) one.requests.clear();
  }
  return config;
}

// Equal but for the order of values.
bool SameRequirement(const NodeRequirement& a, const NodeRequirement& b) {
  return a.key == b.key && a.op == b.op &&
         std::set<std::string>(a.values.begin(), a.values.end()) ==
             std::set<std::string>(b.values.begin(), b.values.end());
}

void JoinRequirements(const std::vector<NodeRequirement>& from, std::vector<NodeRequirement>& to) {
  for (const NodeRequirement& requirement : from) {
    const bool known = std::any_of(to.begin(), to.end(), [&requirement](const auto& other) {
      return SameRequirement(requirement, other);
    });
    if (!known) to.push_back(requirement);
  }
}

// A device of one node ties the claim to it; else what all devices require holds together.
StatusOr<std::optional<NodeSelector>> JoinNodes(const ResultSource& source, std::uint32_t claim) {
  NodeSelectorTerm joined;
  const bool may_bind = source.inventory.options().minor >= kBindsToNodeMinor;
  for (const Taken& taken : source.search.taken()[claim]) {
    const DeviceEntry& entry = EntryOfTaken(source, taken);
    const bool by_device = entry.selects_nodes;
    const NodeScope& nodes = by_device ? entry.device->nodes : entry.slice->nodes;
    if (nodes.node || (may_bind && entry.device->binds_to_node))
      return std::optional(SelectorOfNode(source.node.name));
    if (!nodes.selector || nodes.selector->terms.empty()) continue;
    if (nodes.selector->terms.size() > 1)
      return InvalidArgument("ResourceSlice {} has a node selector of {} terms; one is allowed",
                             entry.slice->name, nodes.selector->terms.size());
    JoinRequirements(nodes.selector->terms.front().fields, joined.fields);
    JoinRequirements(nodes.selector->terms.front().expressions, joined.expressions);
  }
  if (joined.fields.empty() && joined.expressions.empty()) return std::optional<NodeSelector>();
  return std::optional(NodeSelector{.terms = {std::move(joined)}});
}

}  // namespace

StatusOr<Allocation> MakeAllocation(const ResultSource& source, std::uint32_t claim) {
  Allocation allocation;
  for (const Taken& taken : source.search.taken()[claim])
    allocation.devices.push_back(MakeDevice(source, taken));
  allocation.config = MakeConfig(source, claim);
  auto selector = JoinNodes(source, claim);
  if (!selector.ok())
    return Annotate(selector.status(), "claim {}", ToString(*source.demand.claims[claim].claim));
  allocation.node_selector = std::move(selector).value();
  return allocation;
}

}  // namespace galen::alloc
