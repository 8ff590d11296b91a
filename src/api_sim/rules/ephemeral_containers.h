// Containers that are put into a running Pod, to look around in it (kubectl debug): written only
// through the Pod's subresource "ephemeralcontainers", never removed or changed, and without
// resources, so that none ever holds a device. Pure functions for the writer and the rules of Pods.
#pragma once

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"

namespace galen::api_sim {

inline constexpr const char* kEphemeralContainers = "ephemeralcontainers";

// `before` with only the ephemeral containers of `desired`.
Json WithEphemeralContainers(const Json& before, const Json& desired);

// A Pod is created without any.
Faults CheckNoEphemeralContainers(const Json& pod);
// Checks unique names, an image, a target that is no ephemeral container, and the absence of fields
// that only other containers may have.
Faults CheckEphemeralContainers(const Json& pod);
// Checks that the containers of `before` are unchanged in `after`.
Faults CheckEphemeralContainersChange(const Json& before, const Json& after);

}  // namespace galen::api_sim
