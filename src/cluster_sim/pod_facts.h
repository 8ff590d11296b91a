// Questions that several controllers ask of Pods and claims as the API serves them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cluster_sim/object_meta.h"
#include "model/claim.h"

namespace galen::cluster_sim {

const std::string& UidOf(const Json& object);
bool IsBeingDeleted(const Json& object);

// Whether it holds no devices any more: it ended, or was deleted before it got a node.
bool IsPodDone(const Json& pod);

// An entry of spec.resourceClaims.
struct PodClaimFacts {
  std::string name;           // pod-local
  std::string template_name;  // "" when the Pod names a claim itself
  // The ResourceClaim; nullopt: not made yet.
  std::optional<std::string> object_name;
  bool not_needed = false;  // status says that this entry needs no claim

  bool from_template() const { return !template_name.empty(); }
};
std::vector<PodClaimFacts> PodClaims(const Json& pod);

// The Pod in a claim's ownerReferences that controls it, or nullptr.
const Json* OwnerPod(const Json& claim);

bool HasFinalizer(const Json& object, std::string_view finalizer);
// Pods in status.reservedFor.
std::vector<PodRef> Holders(const Json& claim);

inline constexpr std::string_view kDeleteProtection = "resource.kubernetes.io/delete-protection";
inline constexpr std::string_view kPodClaimName = "resource.kubernetes.io/pod-claim-name";

// The condition of `type` in `conditions`, or null.
const Json& FindCondition(const Json& conditions, std::string_view type);

}  // namespace galen::cluster_sim
