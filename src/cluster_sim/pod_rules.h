// What is special about Pods: defaults, what may change, and that health is only reported of
// devices that a container has. Pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "cluster_sim/refusal.h"

namespace galen::cluster_sim {

void PrepareNewPod(Json& pod);
// A status write cannot change the class that follows from the spec.
void KeepPodQosClass(const Json& before, Json& after);
Faults CheckPod(const Json& pod);
Faults CheckPodChange(const Json& before, const Json& after, const std::string& subresource);

inline constexpr std::size_t kHealthMessageBytesMax = 1024;

}  // namespace galen::cluster_sim
