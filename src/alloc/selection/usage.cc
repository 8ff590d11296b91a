#include "alloc/selection/usage.h"

#include <algorithm>

namespace galen::alloc {
namespace {

Quantity& AmountOf(NamedQuantities& amounts, const std::string& name) {
  const auto at = std::lower_bound(
      amounts.begin(), amounts.end(), name,
      [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
  if (at != amounts.end() && at->first == name) return at->second;
  return amounts.emplace(at, name, Quantity())->second;
}

bool AllZero(const NamedQuantities& amounts) {
  return std::all_of(amounts.begin(), amounts.end(),
                     [](const auto& entry) { return entry.second.Sign() == 0; });
}

}  // namespace

Usage::Usage(const Inventory& inventory)
    : inventory_(inventory),
      exclusive_(inventory.identity_count()),
      shares_(inventory.identity_count()) {}

void Usage::Add(const Allocation& allocation) { Change(allocation, 1); }
void Usage::Remove(const Allocation& allocation) { Change(allocation, -1); }

void Usage::Change(const Allocation& allocation, int sign) {
  const bool shares = inventory_.options().features.consumable_capacity;
  for (const AllocatedDevice& device : allocation.devices) {
    if (device.admin_access) continue;
    if (!shares || !device.shared) {
      AddExclusive(device.id, sign);
      continue;
    }
    AddShare(device.id, sign);
    if (!device.consumed_capacity.empty()) AddConsumed(device.id, device.consumed_capacity, sign);
  }
}

void Usage::AddExclusive(const DeviceId& id, int count) {
  const std::uint32_t identity = inventory_.IdentityOf(id);
  if (identity != Inventory::kNoIdentity) exclusive_[identity] += count;
}

void Usage::AddShare(const DeviceId& id, int count) {
  const std::uint32_t identity = inventory_.IdentityOf(id);
  if (identity != Inventory::kNoIdentity) shares_[identity] += count;
}

void Usage::AddConsumed(const DeviceId& id, const NamedQuantities& amounts, int sign) {
  const std::uint32_t identity = inventory_.IdentityOf(id);
  if (identity == Inventory::kNoIdentity) return;
  NamedQuantities& held = consumed_[identity];
  for (const auto& [name, amount] : amounts) {
    Quantity& sum = AmountOf(held, name);
    sum = sign > 0 ? sum + amount : sum - amount;
  }
  if (sign < 0 && AllZero(held)) consumed_.erase(identity);
}

const NamedQuantities* Usage::ConsumedOf(std::uint32_t identity) const {
  if (consumed_.empty()) return nullptr;
  const auto at = consumed_.find(identity);
  return at == consumed_.end() ? nullptr : &at->second;
}

bool Usage::IsAllocated(std::uint32_t identity) const {
  return IsExclusive(identity) || HasShare(identity) || ConsumedOf(identity) != nullptr;
}

}  // namespace galen::alloc
