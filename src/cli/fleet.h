// What the cluster says about devices, put together from its objects: slices say which devices
// there are, claims who holds them, NodeDeviceHealth how they are, and the Pod's own status where
// no agent of ours speaks. Pure; the commands fetch, this joins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/objects/node_device_health.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_slice.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::cli {

// One Pod's hold on one device.
struct Holding {
  ObjectKey pod;
  std::string claim;  // the ResourceClaim's name
  std::string request;

  auto operator<=>(const Holding&) const = default;
};

struct DeviceView {
  DeviceIdentity identity;
  std::string node;
  DeviceHealth health;  // Unknown, NotReported when nobody told
  std::optional<std::int64_t> deadline_seconds;
  std::string deadline_source;
  std::vector<Holding> holders;
};

struct Fleet {
  std::vector<DeviceView> devices;  // worse first, then by node and name
  std::vector<kube::NodeDeviceHealth> nodes;
};

// The objects as the API server has them.
struct FleetObjects {
  std::vector<kube::Pod> pods;
  std::vector<Claim> claims;
  std::vector<kube::ResourceSlice> slices;
  std::vector<kube::NodeDeviceHealth> healths;
};

Fleet JoinFleet(const FleetObjects& objects);

}  // namespace galen::cli
