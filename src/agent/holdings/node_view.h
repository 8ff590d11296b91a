// What the agent knows of its node from the API: Pods, claims, and what the drivers offer. Pointers
// are for immediate use: they hold until the loop's next task.
#pragma once

#include <functional>
#include <optional>

#include "kube/objects/pod.h"
#include "model/claim.h"
#include "model/device.h"

namespace galen::agent {

// Narrow on purpose: what the index, the publishers and `inspect` look up, so that tests need no
// API server. All lookups give nullptr or nullopt for what is not known.
class NodeView {
 public:
  virtual ~NodeView() = default;
  virtual const kube::Pod* FindPod(const ObjectKey& key) const = 0;
  virtual const Claim* FindClaim(const ObjectKey& key) const = 0;
  // The claim as it applies to this Pod; nullptr for a group's claim that was read before the Pod
  // existed, since that may be a former allocation.
  virtual const Claim* FindClaimFor(const kube::Pod& pod, const ObjectKey& key) const = 0;
  virtual void ForEachPod(const std::function<void(const kube::Pod&)>& visit) const = 0;
  // Serial and model as in the drivers' ResourceSlices.
  virtual std::optional<DeviceIdentity> FindIdentity(const DeviceId& id) const = 0;
};

// The CDI names under which drivers prepared devices; empty in the observer role.
class PreparedDevices {
 public:
  virtual ~PreparedDevices() = default;
  // The first CDI id of a device of a claim, or "".
  virtual std::string FirstCdiId(const std::string& claim_uid, const DeviceId& device,
                                 const std::string& share_id) const = 0;
};

}  // namespace galen::agent
