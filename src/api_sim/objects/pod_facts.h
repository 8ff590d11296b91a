// Questions that several controllers ask of Pods and claims as the API serves them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api_sim/objects/object_meta.h"
#include "base/data/json.h"
#include "model/claim.h"

namespace galen::api_sim {

// "" when it has none.
const std::string& UidOf(const Json& object);
bool IsBeingDeleted(const Json& object);

// Whether the Pod ran and never will again: its phase is Succeeded or Failed.
bool HasPodEnded(const Json& pod);

// Whether the Pod holds no devices any more: it ended, or was deleted before it got a node.
bool IsPodDone(const Json& pod);

// An entry of spec.resourceClaims, together with the Pod's status for it.
struct PodClaimFacts {
  std::string name;           // pod-local
  std::string template_name;  // "" when the Pod names a claim itself
  // The ResourceClaim; nullopt: not made yet.
  std::optional<std::string> object_name;
  bool not_needed = false;  // status says that this entry needs no claim

  bool from_template() const { return !template_name.empty(); }
};
// In the order of the spec. Claims of extended resources are not among them.
std::vector<PodClaimFacts> PodClaims(const Json& pod);

// The Pod in a claim's ownerReferences that controls it, or nullptr; lives as long as the claim
// does.
const Json* OwnerPod(const Json& claim);

bool HasFinalizer(const Json& object, std::string_view finalizer);
// Pods in status.reservedFor; holders of other kinds are left out.
std::vector<PodRef> Holders(const Json& claim);

// Whether a kubelet would let the Pod use the claim: it is reserved for its uid, or for the
// PodGroup that the Pod is in (KEP-5729), which a Pod knows by name only.
bool IsReservedForPodOrItsGroup(const Json& claim, const Json& pod);

// The finalizer on a claim that holds devices, and the annotation on a generated claim that names
// the entry of its Pod. Names of resource.k8s.io.
inline constexpr std::string_view kDeleteProtection = "resource.kubernetes.io/delete-protection";
inline constexpr std::string_view kPodClaimName = "resource.kubernetes.io/pod-claim-name";

// The condition of `type` in `conditions`, or a null that lives forever.
const Json& FindCondition(const Json& conditions, std::string_view type);

}  // namespace galen::api_sim
