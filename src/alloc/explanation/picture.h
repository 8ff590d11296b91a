// A cluster at one time, as far as it decides which devices a Pod can have, and the question that
// is asked of it. Values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "alloc/objects/pod_reach.h"
#include "alloc/objects/resource_claim.h"
#include "alloc/objects/resource_slice.h"
#include "alloc/selection/demand.h"
#include "model/claim.h"
#include "model/device.h"

namespace galen::alloc {

// A claim that has devices, and the Pods that it is reserved for.
struct HeldClaim {
  ObjectKey key;
  Allocation allocation;
  std::vector<ObjectKey> pods;
  // What it asked for, and where its Pods may go; read where it matters (what-if), else empty.
  ResourceClaim claim = {};
  PodReach reach = {};
};

struct Picture {
  std::vector<NodeState> nodes;
  std::vector<ResourceSlice> slices;
  std::vector<TaintRule> rules;
  DeviceClasses classes;
  std::vector<HeldClaim> held;
  // What is known of devices that are not well: "XidGpuLost for 6 m".
  std::map<DeviceId, std::string> health;
  // What could not be read, a sentence each: whatever is found to fit is then not sure to.
  std::vector<std::string> gaps;
};

// A Pod that wants devices, or one that could.
struct Question {
  PodReach reach;
  // Those without devices.
  std::vector<ResourceClaim> claims;
};

}  // namespace galen::alloc
