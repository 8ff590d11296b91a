// What is special about Pods: defaults, what may change, and that health is only reported of
// devices that a container has (KEP-4680). Pure functions for rules.h; upstream's are in
// pkg/apis/core/validation.
#pragma once

#include <string>

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"

namespace galen::api_sim {

// Requests that follow from limits, the old name of the service account, and a fresh status:
// Pending, with its QoS class.
void PrepareNewPod(Json& pod);
// A status write cannot change the class that follows from the spec.
void KeepPodQosClass(const Json& before, Json& after);
// Containers with names and images, claims named one way, containers that use only these.
Faults CheckPod(const Json& pod);
// What only holds when it is made: nobody looks around in it yet.
Faults CheckNewPod(const Json& pod);
// `subresource` decides: "status" checks the health that is reported, "" and "binding" that the
// spec changes only where it may.
Faults CheckPodChange(const Json& before, const Json& after, const std::string& subresource);

// ResourceHealthMessageMaxLength of core/v1. Beyond it: 422.
inline constexpr std::size_t kHealthMessageBytesMax = 1024;

}  // namespace galen::api_sim
