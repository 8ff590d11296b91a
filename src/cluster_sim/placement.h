// Decides which node a Pod goes to and which devices its claims get there: the first node that will
// do. Pure: facts in, decision out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cluster_sim/device_allocator.h"
#include "cluster_sim/device_inventory.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// What is known at the moment of the decision. Lent.
struct PlacementFacts {
  const std::map<ObjectKey, Json>& nodes;
  const std::map<ObjectKey, Json>& claims;
  const std::map<ObjectKey, Json>& classes;
  const DeviceInventory& inventory;
  // Whether some claim holds the device, written already or decided lately.
  std::function<bool(const DeviceId& device)> in_use;
  // A claim's allocation, written already or decided lately; null when it has none.
  std::function<const Json&(const Json& claim)> allocation_of;
  std::function<std::size_t(const std::string& node)> pods_on;
};

// A claim of the Pod as it is, and the allocation it is to get; null when it has one.
struct ClaimPlacement {
  Json claim;
  Json allocation;
};

struct Placement {
  std::string node;
  std::vector<ClaimPlacement> claims;
};

// Why there is no placement, by code: ResourceExhausted: no node will do now (Unschedulable);
// InvalidArgument: it can never be decided here (SchedulerError); FailedPrecondition: claims of the
// Pod are not made yet, wait without a word. The message is for the Pod's condition.
StatusOr<Placement> Place(const Json& pod, const PlacementFacts& facts);

}  // namespace galen::cluster_sim
