// What the cluster says about devices, put together from its objects: slices say which devices
// there are, claims who holds them, NodeDeviceHealth how they are, the Pod's own status where no
// agent of ours reports, and nodes and Leases whether any of it still holds. Pure; the commands
// fetch, this joins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "cli/fleet/node_life.h"
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
  std::string pod_uid = {};  // a claim may still be reserved for a former Pod of that name

  auto operator<=>(const Holding&) const = default;
};

// One device and all that is known of it.
struct DeviceView {
  DeviceIdentity identity;
  // From its slice; the pool's name, which most drivers name after the node, when no slice says it.
  std::string node;
  DeviceHealth health;  // Unknown, NotReported when nobody reported it
  // How long its driver's report holds, who said so, and by which rule of the operator's ("pool
  // node-7"); nullopt and "": not known.
  std::optional<std::int64_t> deadline_seconds;
  std::string deadline_source;
  std::string deadline_rule;
  std::vector<Holding> holders;
};

// Everything at one moment.
struct Fleet {
  std::vector<DeviceView> devices;  // worse first, then by node and name
  // As the agents wrote them, for what is shown of nodes and drivers.
  std::vector<kube::NodeDeviceHealth> nodes;
  bool kind_missing = false;  // so no agent could report any
};

// What to say, once, where the cluster has no NodeDeviceHealth; and in short of one device.
inline constexpr std::string_view kKindMissing =
    "this cluster has no NodeDeviceHealth kind: kubectl apply -f "
    "deploy/crds/nodedevicehealths.yaml";
inline constexpr std::string_view kKindMissingShort =
    "this cluster has no NodeDeviceHealth kind, by which agents report";

// The objects as the API server has them.
struct FleetObjects {
  std::vector<kube::Pod> pods;
  std::vector<Claim> claims;
  std::vector<kube::ResourceSlice> slices;
  std::vector<kube::NodeDeviceHealth> healths;
  NodeSigns signs = {};
  bool kind_missing = false;  // the cluster does not have NodeDeviceHealth at all
};

// `now` as NodeLives takes it: findings of nodes that fell silent are Unknown, AgentGone; of those
// whose agent was stopped, AgentStopped, at once.
Fleet JoinFleet(const FleetObjects& objects, WallTime now = {});

}  // namespace galen::cli
