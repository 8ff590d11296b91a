// What Pods that have ended show of their devices, as evidence: each device as it was when the Pod
// was first seen to have ended, and of what comes later only a worse fault. Pure; belongs to the
// agent's loop.
#pragma once

#include <map>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "agent/publish/pod_status.h"

namespace galen::agent {

class EndedFindings {
 public:
  // The devices of a Pod that has ended are like this now. To be called at once when it is seen,
  // and for each later change.
  void Keep(const ObjectKey& pod, const std::vector<HeldDevice>& devices,
            const HealthOf& health_of);
  // What the Pod shows of the device. REQUIRES: kept before.
  const DeviceHealth& Of(const ObjectKey& pod, const DeviceId& device) const {
    return kept_.at(pod).at(device);
  }
  void Forget(const ObjectKey& pod) { kept_.erase(pod); }

 private:
  std::map<ObjectKey, std::map<DeviceId, DeviceHealth>> kept_;
};

}  // namespace galen::agent
