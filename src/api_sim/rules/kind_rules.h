// The rules of single kinds: defaults, and upstream's validation beyond the schema. Pure functions
// for rules.h, which says when each runs. Faults carry the field's path in the object.
#pragma once

#include <string>

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

// ---- Pods (pod_rules.cc; upstream in pkg/apis/core/validation). Health may be reported only for
// devices of the container (KEP-4680).

// Sets requests from limits, the old name of the service account, and a fresh status: Pending, with
// the QoS class.
void PrepareNewPod(Json& pod);
// A status write cannot change the class that follows from the spec.
void KeepPodQosClass(const Json& before, Json& after);
// Checks that containers have names and images, that claims are named in one way, and that
// containers use only these claims.
Faults CheckPod(const Json& pod);
// Checks that apply only at creation: no ephemeral containers yet.
Faults CheckNewPod(const Json& pod);
// `subresource` decides: "status" checks the health that is reported, "" and "binding" that the
// spec changes only where it may.
Faults CheckPodChange(const Json& before, const Json& after, const std::string& subresource);

// ResourceHealthMessageMaxLength of core/v1. Beyond it: 422.
inline constexpr std::size_t kHealthMessageBytesMax = 1024;

// ---- The kinds of resource.k8s.io (claim_rules.cc).

// Sets timeAdded where a taint has none: one that evicts counts tolerationSeconds from then.
// Repeating changes nothing.
void StampRuleTaint(Json& rule, WallTime now);
void StampSliceTaints(Json& slice, WallTime now);
// An absent exact count becomes 1. `claim_spec` is a ResourceClaimSpec, or null, which becomes an
// empty object.
void FillRequestCounts(Json& claim_spec);

// A ResourceClaimSpec at `path` ("spec" of a claim, "spec.spec" of a template): names, one way of
// asking a request, known allocation modes, at most kRequestsMax.
Faults CheckClaimSpec(const Json& spec, const std::string& path);
// The spec never changes; an allocation is set or removed, but not replaced; an unallocated claim
// cannot be reserved; status.devices names only allocated devices.
Faults CheckClaimChange(const Json& before, const Json& after);
// Driver, pool and place are given, device names are unique, taints have known effects.
Faults CheckSlice(const Json& slice);
// Driver, pool and node of a slice never change: a driver makes another slice instead.
Faults CheckSliceChange(const Json& before, const Json& after);
// The taint is complete. A selector is not checked: an empty one means all devices.
Faults CheckTaintRule(const Json& rule);

// Upstream's limits, constants of k8s.io/api/resource/v1 (ResourceSliceMaxDevices and the like). At
// each: 422 with FieldValueTooMany.
inline constexpr std::size_t kDevicesPerSliceMax = 128;
// Fewer when any device has taints or consumes counters, for such objects are larger.
inline constexpr std::size_t kTaintedDevicesPerSliceMax = 64;
inline constexpr std::size_t kReservedForMax = 256;
inline constexpr std::size_t kRequestsMax = 32;

}  // namespace galen::api_sim
