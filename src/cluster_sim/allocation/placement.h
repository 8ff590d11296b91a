// Decides which node a Pod goes to and which devices its claims get there: the first node that
// fits, in order of names. Considers readiness, cordons, taints, node selectors, required node
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
#include "cluster_sim/allocation/device_book.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// The facts for a decision. All maps are complete and by key. Borrowed.
struct PlacementFacts {
  const std::map<ObjectKey, Json>& nodes;
  const std::map<ObjectKey, Json>& claims;
  const std::map<ObjectKey, Json>& classes;
  // With what claims hold in the API or by a recent decision.
  DeviceBook& devices;
  // A claim's allocation, from the API or a recent decision; null when it has none. The reference
  // is valid until the decision is made.
  std::function<const Json&(const Json& claim)> allocation_of;
  // Pods that are bound to the node and not done.
  std::function<std::size_t(const std::string& node)> pods_on;
};

// A claim of the Pod, and the allocation that it gets; null when it has one.
struct ClaimPlacement {
  Json claim;
  Json allocation;
};

// The claim for the Pod's extended resources on its node (KEP-5004).
struct ExtendedPlacement {
  // The claim to be created, without a name; one that exists already is among the placement's
  // claims.
  Json claim;
  Json allocation;
  std::string name;  // of the claim once it is made
  Json mappings;     // for the Pod's status
};

// The Pod's node, and all its claims in the Pod's order, whether reserved already or not.
struct Placement {
  std::string node;
  std::vector<ClaimPlacement> claims;
  // nullopt: no class offers a resource that it requests
  std::optional<ExtendedPlacement> extended = {};
};

// Why there is no placement, by code: ResourceExhausted: no node fits now (Unschedulable);
// InvalidArgument: it can never be decided here (SchedulerError); FailedPrecondition: claims of the
// Pod do not exist yet, wait silently. The message is for the Pod's condition.
StatusOr<Placement> Place(const Json& pod, const PlacementFacts& facts);

}  // namespace galen::cluster_sim
