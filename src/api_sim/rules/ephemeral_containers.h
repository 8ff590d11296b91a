// Containers that are put into a running Pod, to look around in it (kubectl debug): written by the
// Pod's subresource "ephemeralcontainers" alone, never taken away or changed, and without
// resources, so that none ever holds a device. Pure functions for the writer and the rules of Pods.
#pragma once

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"

namespace galen::api_sim {

inline constexpr const char* kEphemeralContainers = "ephemeralcontainers";

// `before` with the ephemeral containers of `desired` and nothing else of it.
Json WithEphemeralContainers(const Json& before, const Json& desired);

// A Pod is made without any.
Faults CheckNoEphemeralContainers(const Json& pod);
// Names of their own, an image, a target that is no ephemeral container, no field that only a
// lasting container may have.
Faults CheckEphemeralContainers(const Json& pod);
// Those that `before` has are in `after` as they were.
Faults CheckEphemeralContainersChange(const Json& before, const Json& after);

}  // namespace galen::api_sim
