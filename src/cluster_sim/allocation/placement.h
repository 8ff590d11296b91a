// Decides which node a Pod goes to and which devices its claims get there: the first node that will
// do, in order of names. Looks at readiness, cordons, taints, node selectors, required node
// affinity, the number of Pods and devices; not at CPU, memory, spreading or preferences, and at
// extended resources only as far as DeviceClasses offer them. Pure: facts in, decision out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "cluster_sim/allocation/device_allocator.h"
#include "cluster_sim/allocation/device_inventory.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// What is known at the moment of the decision. All maps are whole and by key. Lent.
struct PlacementFacts {
  const std::map<ObjectKey, Json>& nodes;
  const std::map<ObjectKey, Json>& claims;
  const std::map<ObjectKey, Json>& classes;
  const DeviceInventory& inventory;
  // Whether some claim holds the device, written already or decided lately.
  std::function<bool(const DeviceId& device)> in_use;
  // A claim's allocation, written already or decided lately; null when it has none. The reference
  // lives until the decision is made.
  std::function<const Json&(const Json& claim)> allocation_of;
  // Pods that are bound to the node and not done.
  std::function<std::size_t(const std::string& node)> pods_on;
};

// A claim of the Pod as it is, and the allocation it is to get; null when it has one.
struct ClaimPlacement {
  Json claim;
  Json allocation;
};

// What stands for the Pod's extended resources on its node (KEP-5004).
struct ExtendedPlacement {
  // The claim as it is yet to be made, without a name; one that is made already is among the
  // placement's.
  Json claim;
  Json allocation;
  std::string name;  // of the claim once it is made
  Json mappings;     // for the Pod's status
};

// Where the Pod goes, and every claim it needs in the Pod's order, reserved already or not.
struct Placement {
  std::string node;
  std::vector<ClaimPlacement> claims;
  std::optional<ExtendedPlacement> extended = {};  // nullopt: it asks for none that classes offer
};

// Why there is no placement, by code: ResourceExhausted: no node will do now (Unschedulable);
// InvalidArgument: it can never be decided here (SchedulerError); FailedPrecondition: claims of the
// Pod are not made yet, wait silently. The message is for the Pod's condition.
StatusOr<Placement> Place(const Json& pod, const PlacementFacts& facts);

}  // namespace galen::cluster_sim
