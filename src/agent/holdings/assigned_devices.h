// What each Pod of the node is known to have, so that a device that is new to it stands out: how it
// was when the Pod got it is the first thing that its owner wants to know. Belongs to the agent's
// loop; bounded by the Pods there are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/holdings/claim_index.h"

namespace galen::agent {

class AssignedDevices {
 public:
  // The devices that `pod` has got since the last look; none for a Pod that has ended: of it that
  // is no news. What it has lost and gets again is new again.
  std::vector<DeviceId> Look(const kube::Pod& pod, const std::vector<HeldDevice>& held);
  // The Pod is gone, or another has its name.
  void Forget(const ObjectKey& pod) { known_.erase(pod); }

 private:
  std::map<ObjectKey, std::set<DeviceId>> known_;
};

}  // namespace galen::agent
