// What a Pod's own status says about a device: what the kubelet published, for devices that no
// agent of ours reports. Pure.
#pragma once

#include "kube/objects/pod.h"
#include "model/claim.h"

namespace galen::cli {

// The entry of allocatedResourcesStatus that is about `device` of `claim`; null when there is none,
// or when several could be it. An entry is named claim:<pod's claim>[/<request>]; its resourceID is
// the device's first CDI id, whose name the driver is free to choose, or driver/pool/device
// (KEP-4680). So the device is found by the claim's allocation: the only one that was allocated to
// the entry's request, or the one whose name ends the id.
const kube::ResourceHealth* EntryOfDevice(const kube::Pod& pod, const Claim& claim,
                                          const DeviceId& device);

}  // namespace galen::cli
