// Who has what: the devices of an inventory that claims hold, exclusively or in shares. A value
// that can be changed to ask what would be; it borrows the inventory. Belongs to one thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "alloc/objects/resource_claim.h"
#include "alloc/selection/inventory.h"

namespace galen::alloc {

class Usage {
 public:
  explicit Usage(const Inventory& inventory);

  // All that the allocation holds; what has admin access holds nothing. Shares count as such only
  // with the gate for consumable capacity. Devices that no slice has are nobody's concern.
  void Add(const Allocation& allocation);
  // The reverse of one Add of an equal allocation.
  void Remove(const Allocation& allocation);

  // Each single part of it, for states that no claim explains.
  void AddExclusive(const DeviceId& id, int count = 1);
  void AddShare(const DeviceId& id, int count = 1);
  void AddConsumed(const DeviceId& id, const NamedQuantities& amounts, int sign = 1);

  // Nobody else can have it, but with admin access.
  bool IsExclusive(std::uint32_t identity) const { return exclusive_[identity] > 0; }
  // A share of it is held.
  bool HasShare(std::uint32_t identity) const { return shares_[identity] > 0; }
  // Null: no share of it has a part of its capacity.
  const NamedQuantities* ConsumedOf(std::uint32_t identity) const;
  // What it charges its counters with is charged already.
  bool IsAllocated(std::uint32_t identity) const;

 private:
  void Change(const Allocation& allocation, int sign);

  const Inventory& inventory_;
  std::vector<std::int32_t> exclusive_;  // by identity, as the next
  std::vector<std::int32_t> shares_;
  std::unordered_map<std::uint32_t, NamedQuantities> consumed_;
};

}  // namespace galen::alloc
