// For Pods that request an extended resource that a DeviceClass offers: the scheduler makes a claim
// for them, and the Pod's status says which request serves which container's resource (KEP-5004).
// Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// A Pod's requests of device classes on one node.
struct ExtendedRequests {
  Json requests;  // as a ResourceClaim's spec.devices.requests; an empty list: nothing
  Json mappings;  // as requestMappings of the Pod's status.extendedResourceClaimStatus

  bool empty() const { return requests.items().empty(); }
};

// A resource is a class's by spec.extendedResourceName, or by its implicit name,
// "deviceclass.resource.kubernetes.io/CLASS"; of several classes that offer one resource the one
// that was made last, and of those made in one second the first by name (resource.k8s.io/v1). A
// node that offers the resource itself (a device plugin) needs no claim for it. Requests are named
// after container and resource as kube-scheduler does; an init container that ends uses the
// requests of main containers and sidecars after it, as far as they suffice.
ExtendedRequests ReadExtendedRequests(const Json& pod, const Json& node,
                                      const std::map<ObjectKey, Json>& classes);

// The claim that the scheduler creates for the Pod: owned by it, with a finalizer, still without a
// name.
Json MakeExtendedClaim(const Json& pod, const Json& requests);
// Whether `claim` was created in this way for this Pod.
bool IsExtendedClaimOf(const Json& claim, const Json& pod);

// resource.k8s.io's annotation on such a claim ("true"), and prefix of implicit names.
inline constexpr std::string_view kExtendedClaim = "resource.kubernetes.io/extended-resource-claim";
inline constexpr std::string_view kImplicitResource = "deviceclass.resource.kubernetes.io/";

}  // namespace galen::cluster_sim
