// Chooses devices for claims by first fit: requests in their order, pools in theirs, the first free
// devices that will do, and no second thoughts. Pure; it never gives one device to two claims
// unless one of them asked for admin access.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cluster_sim/claim_requests.h"
#include "cluster_sim/device_inventory.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// The API's bound of results in one claim.
inline constexpr std::size_t kResultsPerClaimMax = 32;

// Hands out devices that one node can use. Lives for one decision about one node; the inventory,
// the node and `in_use` outlive it.
class NodeAllocator {
 public:
  using InUse = std::function<bool(const DeviceId& device)>;

  NodeAllocator(const DeviceInventory& inventory, const Json& node, InUse in_use);

  // A claim's status.allocation. What it holds is taken for later claims of this decision.
  // ResourceExhausted with what is missing when the devices do not suffice; nothing is taken then.
  StatusOr<Json> Allocate(const ClaimRequests& claim);

 private:
  struct Pick {
    const DeviceWish* wish;
    std::vector<const OfferedDevice*> devices;
  };

  StatusOr<Pick> PickFor(const DeviceRequest& request, std::set<DeviceId>& taken) const;
  StatusOr<Pick> PickFor(const DeviceWish& wish, std::set<DeviceId>& taken) const;
  Json Encode(const ClaimRequests& claim, const std::vector<Pick>& picks) const;
  Json NodeSelectorFor(const std::vector<Pick>& picks) const;

  const Json& node_;
  const InUse in_use_;
  const std::vector<const DevicePool*> pools_;
  std::set<DeviceId> taken_;
};

// The devices that a claim holds and nobody else may: without those of admin access.
std::vector<DeviceId> HeldDevices(const Json& allocation);

}  // namespace galen::cluster_sim
