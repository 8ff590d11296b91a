// Chooses devices for claims by first fit: requests and pools in their order, and the first free
// devices that fit. It never revises a choice, so a claim that only another choice would satisfy is
// refused. It never gives one device to two claims unless one of them asked for admin access. Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cluster_sim/allocation/claim_requests.h"
#include "cluster_sim/allocation/device_inventory.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// The API's bound of results in one claim (AllocationResultsMaxSize of resource.k8s.io/v1). At the
// limit: ResourceExhausted.
inline constexpr std::size_t kResultsPerClaimMax = 32;

// Hands out devices that one node can use. Lives for one decision about one node, for all claims of
// one Pod; the arguments outlive it.
class NodeAllocator {
 public:
  // Whether some claim already holds the device.
  using InUse = std::function<bool(const DeviceId& device)>;

  // `node` is a v1 Node.
  NodeAllocator(const DeviceInventory& inventory, const Json& node, InUse in_use);

  // A claim's status.allocation, without a timestamp. Its devices are taken for later claims of
  // this decision. ResourceExhausted, with the shortage, when there are too few devices; nothing is
  // taken then.
  StatusOr<Json> Allocate(const ClaimRequests& claim);

 private:
  // The result for one request: the wish that was met, and its devices. Borrows both.
  struct Pick {
    const DeviceWish* wish;
    std::vector<const OfferedDevice*> devices;
  };

  // The first wish that can be met. Adds its devices to `taken` on success; a failure has the first
  // wish's reason, since the author prefers that wish.
  StatusOr<Pick> PickFor(const DeviceRequest& request, std::set<DeviceId>& taken) const;
  StatusOr<Pick> PickFor(const DeviceWish& wish, std::set<DeviceId>& taken) const;
  // The allocation in the API's form: results, and the configuration of class and claim for
  // drivers.
  Json Encode(const ClaimRequests& claim, const std::vector<Pick>& picks) const;
  Json NodeSelectorFor(const std::vector<Pick>& picks) const;

  const Json& node_;
  const InUse in_use_;
  const std::vector<const DevicePool*> pools_;
  std::set<DeviceId> taken_;
};

// The devices that a claim holds exclusively: without those of admin access. `allocation` is a
// status.allocation; null holds none. Shares of one device are one entry each.
std::vector<DeviceId> HeldDevices(const Json& allocation);

}  // namespace galen::cluster_sim
