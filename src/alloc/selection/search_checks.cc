// Tested by search_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "alloc/selection/search.h"

namespace galen::alloc {
namespace {

// The feature that a node declares when its kubelet can leave out operations.
constexpr std::string_view kOptionalNodeOperations = "DRAOptionalNodeOperations";
// Since this release a share without capacity counts as one, too.
constexpr int kShareWithoutCapacityMinor = 37;

constexpr std::uint8_t kFitsNode = 1;
constexpr std::uint8_t kOtherNode = 2;

}  // namespace

Reason Search::NoteError(std::string error) {
  error_ = std::move(error);
  return Reason::kNone;
}

bool Search::IsShareable(const DeviceEntry& entry) const {
  return options_.features.consumable_capacity && entry.allows_shares;
}

Reason Search::CheckExact(const Slot& slot, std::uint32_t candidate) {
  if (const Reason reason = CheckFree(slot, candidate); reason != Reason::kNone) return reason;
  Reason reason = CheckSelectable(slot, candidate);
  if (reason == Reason::kNone && error_.empty()) reason = CheckShare(slot, candidate);
  if (reason == Reason::kNone && error_.empty()) reason = CheckUsable(slot, candidate);
  return reason;
}

// Selectors were asked when the list was made.
Reason Search::CheckAll(const Slot& slot, std::uint32_t candidate) {
  if (const Reason reason = CheckFree(slot, candidate); reason != Reason::kNone) return reason;
  const Reason reason = CheckUsable(slot, candidate);
  if (reason == Reason::kConstraint)
    return NoteError(fmt::format(
        "claim {}, request {}: device {} is one of all, but a constraint "
        "excludes it",
        ToString(*demand_.claims[slot.claim].claim), slot.name, EntryOf(candidate).device->name));
  return reason == Reason::kNone ? CheckShare(slot, candidate) : reason;
}

Reason Search::CheckFree(const Slot& slot, std::uint32_t candidate) const {
  if (!slot.admin_access) {
    if (usage_.IsExclusive(EntryOf(candidate).identity)) return Reason::kInUse;
    return is_taken_[candidate] > 0 ? Reason::kTakenBefore : Reason::kNone;
  }
  if (is_taken_[candidate] == 0) return Reason::kNone;
  const std::vector<Taken>& own = taken_[slot.claim];
  const bool twice = std::any_of(own.begin(), own.end(), [candidate](const Taken& taken) {
    return taken.candidate == candidate && !taken.shared;
  });
  return twice ? Reason::kTakenBefore : Reason::kNone;
}

Reason Search::SelectorError(const Slot& slot, std::size_t selector, std::uint32_t entry) {
  const bool of_class = selector < slot.class_selectors;
  const DeviceEntry& device = inventory_.entries()[entry];
  return NoteError(fmt::format(
      "{} {}, selector {} on device {}/{}/{}: {}", of_class ? "class" : "claim",
      of_class ? slot.device_class->name : ToString(*demand_.claims[slot.claim].claim),
      of_class ? selector : selector - slot.class_selectors, device.slice->driver,
      device.slice->pool, device.device->name, memo_.ErrorOf(slot.selectors[selector], entry)));
}

Reason Search::CheckSelectable(const Slot& slot, std::uint32_t candidate) {
  const std::uint32_t number = view_->candidates[candidate].entry;
  const DeviceEntry& entry = inventory_.entries()[number];
  if (!options_.features.binding_conditions && entry.has_binding_conditions)
    return Reason::kBindingConditions;
  for (std::size_t i = 0; i < slot.selectors.size(); ++i) {
    switch (memo_.Ask(slot.selectors[i], number)) {
      case SelectorMemo::Verdict::kTrue:
        break;
      case SelectorMemo::Verdict::kFalse:
        return i < slot.class_selectors ? Reason::kClassSelector : Reason::kRequestSelector;
      case SelectorMemo::Verdict::kError:
      case SelectorMemo::Verdict::kUnknown:
        return SelectorError(slot, i, number);
    }
  }
  if (!entry.selects_nodes) return Reason::kNone;
  return CheckDeviceNode(candidate);
}

Reason Search::CheckDeviceNode(std::uint32_t candidate) {
  std::uint8_t& fits = node_fits_[candidate];
  if (fits == 0) {
    const NodeScope& nodes = EntryOf(candidate).device->nodes;
    const auto reaches = Reaches(nodes, *node_);
    if (!reaches.ok()) return NoteError(reaches.status().message());
    fits = *reaches ? kFitsNode : kOtherNode;
  }
  return fits == kFitsNode ? Reason::kNone : Reason::kOtherNode;
}

Reason Search::CheckShare(const Slot& slot, std::uint32_t candidate) {
  if (!options_.features.consumable_capacity) return Reason::kNone;
  const DeviceEntry& entry = EntryOf(candidate);
  const NamedQuantities* requested = slot.wish->capacity ? &*slot.wish->capacity : nullptr;
  const NamedQuantities* held = usage_.ConsumedOf(entry.identity);
  const std::uint32_t sharing = sharing_of_[candidate];
  const NamedQuantities* taking = sharing != kUnshared ? &sharings_[sharing].sum : nullptr;
  if (requested == nullptr && held == nullptr && taking == nullptr && entry.plain_capacity)
    return Reason::kNone;
  const Share share = ComputeShare(entry.device->capacity, requested, held, taking, options_);
  switch (share.verdict) {
    case Share::Verdict::kFits:
      return Reason::kNone;
    case Share::Verdict::kMissing:
      return Reason::kCapacityMissing;
    case Share::Verdict::kPolicy:
      return Reason::kCapacityPolicy;
    case Share::Verdict::kTooMuch:
      return Reason::kCapacityTaken;
    case Share::Verdict::kError:
      break;
  }
  return NoteError(
      fmt::format("request {}, device {}: {}", slot.name, entry.device->name, share.error));
}

Reason Search::CheckNodeOperations(const DeviceEntry& entry) const {
  if (!entry.skips_node_operations || !options_.experimental) return Reason::kNone;
  if (!options_.features.optional_node_operations) return Reason::kNodeOperations;
  const auto& declared = node_->declared_features;
  const bool able =
      std::find(declared.begin(), declared.end(), kOptionalNodeOperations) != declared.end();
  return able ? Reason::kNone : Reason::kNodeOperations;
}

Reason Search::CheckUsable(const Slot& slot, std::uint32_t candidate) {
  const DeviceEntry& entry = EntryOf(candidate);
  const bool consumes = entry.consumes_counters;
  if (consumes && !options_.features.partitionable_devices) return Reason::kCounters;
  if (const Reason reason = CheckNodeOperations(entry); reason != Reason::kNone) return reason;
  if (consumes && !ChargesNothingMore(candidate)) {
    if (options_.features.compatibility_groups && !IsCompatible(candidate))
      return Reason::kCompatibility;
    if (!HasCounters(candidate)) return Reason::kCounters;
  }
  const std::uint32_t number = view_->candidates[candidate].entry;
  if (options_.features.device_taints && !Tolerated(slot, number)) return Reason::kTaint;
  return SatisfiesConstraints(slot, number) ? Reason::kNone : Reason::kConstraint;
}

// A further share of a device whose first share has charged its counters.
bool Search::ChargesNothingMore(std::uint32_t candidate) const {
  const DeviceEntry& entry = EntryOf(candidate);
  if (!IsShareable(entry)) return false;
  const std::uint32_t sharing = sharing_of_[candidate];
  if (sharing != kUnshared && sharings_[sharing].count > 0) return true;
  if (usage_.ConsumedOf(entry.identity) != nullptr) return true;
  return options_.minor >= kShareWithoutCapacityMinor && usage_.HasShare(entry.identity);
}

Search::Counters& Search::CountersOf(std::uint32_t pool) {
  Counters& counters = counters_[pool];
  if (counters.known) return counters;
  const PoolCounters& shared = *view_->pools[pool]->counters;
  counters.known = true;
  counters.left = shared.counters;
  for (const auto& [entry, use] : shared.consumers) {
    if (!usage_.IsAllocated(inventory_.entries()[entry].identity)) continue;
    for (const CounterUse::Charge& charge : use.charges)
      counters.left[charge.counter] -= charge.amount;
  }
  counters.overdrawn_before.assign(1, 0);
  for (const Amount left : counters.left)
    counters.overdrawn_before.push_back(counters.overdrawn_before.back() + (left < 0 ? 1 : 0));
  return counters;
}

// Upstream looks at all counters of the pool: one that others have overdrawn refuses every device
// that consumes any.
bool Search::HasCounters(std::uint32_t candidate) {
  const Candidate& device = view_->candidates[candidate];
  if (device.use == nullptr) return true;
  const Counters& counters = CountersOf(device.pool);
  const CounterUse& use = *device.use;
  if (counters.overdrawn_before[use.last] != counters.overdrawn_before[use.first]) return false;
  return std::all_of(use.charges.begin(), use.charges.end(), [&counters](const auto& charge) {
    return counters.left[charge.counter] >= charge.amount;
  });
}

bool Search::Tolerated(const Slot& slot, std::uint32_t entry) const {
  const std::span<const DeviceTaint> taints = inventory_.TaintsOf(entry);
  const auto& tolerations = slot.wish->tolerations;
  return std::all_of(taints.begin(), taints.end(), [&tolerations](const DeviceTaint& taint) {
    return std::any_of(tolerations.begin(), tolerations.end(),
                       [&taint](const auto& toleration) { return Tolerates(toleration, taint); });
  });
}

bool Search::SatisfiesConstraints(const Slot& slot, std::uint32_t entry) const {
  const ClaimPlan& plan = demand_.claims[slot.claim];
  return std::all_of(slot.constraints.begin(), slot.constraints.end(), [&](std::uint32_t i) {
    const ConstraintPlan& constraint = plan.constraints[i];
    return SatisfiesConstraint(constraint, constraints_[slot.claim][i],
                               inventory_.ValueOf(entry, constraint.name));
  });
}

// The first device of a set may have any value; lists and unknown kinds are like no other.
bool Search::SatisfiesConstraint(const ConstraintPlan& plan, const Values& values,
                                 std::uint32_t value) const {
  if (value == Interner::kAbsent) return false;
  if (options_.features.list_attributes) return SatisfiesWithLists(plan, values, value);
  if (values.empty()) return true;
  if (!inventory_.interner().IsSingle(value)) return false;
  if (!plan.distinct) return values.front() == value;
  return std::find(values.begin(), values.end(), value) == values.end();
}

}  // namespace galen::alloc
