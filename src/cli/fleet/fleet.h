// What the cluster says about devices, put together from its objects: slices say which devices
// there are, claims who holds them, NodeDeviceHealth how they are, the Pod's own status where no
// agent of ours reports, and nodes and Leases whether any of it still holds. Pure; the commands
// fetch, this joins.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "kube/objects/node_device_health.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_slice.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::cli {

// ---- Whether a node can still be believed to live: what was said of the devices of one that
// cannot is what they were, not what they are. Values; pure.
//
// The signs are those that Kubernetes itself goes by: the node's Lease in kube-node-lease, renewed
// by its kubelet or by our agent in the manager role (KEP-589), and the Ready condition, which the
// node lifecycle controller turns Unknown when a node falls silent.

// The code of the cause that such a device is shown with: its node fell silent.
inline constexpr std::string_view kAgentGone = "AgentGone";
// The same where the agent said goodbye itself; also the reason of the condition in which it does.
inline constexpr std::string_view kAgentStopped = "AgentStopped";
// Where nodes keep their Leases.
inline constexpr std::string_view kNodeLeases = "kube-node-lease";

// A Node, as far as its life is concerned.
struct NodeReady {
  std::string node;
  std::string status;               // of the condition Ready: "True", "False", "Unknown"; "" = none
  std::optional<WallTime> changed;  // when it became so
  bool operator==(const NodeReady&) const = default;
};
StatusOr<NodeReady> DecodeNodeReady(const Json& node);

// A node's Lease.
struct NodeLease {
  std::string node;
  std::optional<WallTime> renewed;
  std::optional<Duration> holds;  // how long a renewal does; nullopt: not known
  bool operator==(const NodeLease&) const = default;
};
StatusOr<NodeLease> DecodeNodeLease(const Json& lease);

// What the API server says of all nodes; nullopt: it could not be asked, so no node is doubted by
// it.
struct NodeSigns {
  std::optional<std::vector<NodeReady>> nodes;
  std::optional<std::vector<NodeLease>> leases;
};

// Why a node is not believed, and since when it has been silent, where that is known.
struct Lapse {
  std::string why;
  std::optional<WallTime> since;
  std::string_view code = kAgentGone;
};

// That the agent of this node was stopped, as its own last status says (Ready is False,
// AgentStopped); nullopt when it did not say so.
std::optional<Lapse> Goodbye(const kube::NodeDeviceHealth& node);

// Knows which nodes have lapsed, of those that the signs name.
class NodeLives {
 public:
  // `now` is this machine's clock, against which Leases are held; {} = do not.
  NodeLives(const NodeSigns& signs, WallTime now);

  // nullopt: nothing is known against it. `must_exist`: a node that the API server does not have
  // has lapsed; without, it is just not known, as of a pool that is no node's.
  std::optional<Lapse> Find(const std::string& node, bool must_exist) const;

 private:
  bool nodes_known_;
  std::map<std::string, std::optional<Lapse>> lapses_;  // of every node that the signs name
};

// What is left of a finding once its node has lapsed: Unknown, since the node fell silent, with
// what it last said.
void Doubt(HealthState& state, Cause& cause, const Lapse& lapse);

// All that a lapsed node's object says, doubted; the agent's own goodbye stays as it is.
void Doubt(kube::NodeDeviceHealth& node, const Lapse& lapse);

// One Pod's hold on one device.
struct Holding {
  ObjectKey pod;
  std::string claim;  // the ResourceClaim's name; "" for a device plugin's device
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

// ---- What a Pod's own status says about a device: what the kubelet published, for devices that no
// agent of ours reports. Pure.

// The entry of allocatedResourcesStatus that is about `device` of `claim`; null when there is none,
// or when several could be it. An entry is named claim:<pod's claim>[/<request>]; its resourceID is
// the device's first CDI id, whose name the driver is free to choose, or driver/pool/device
// (KEP-4680). So the device is found by the claim's allocation: the only one that was allocated to
// the entry's request, or the one whose name ends the id.
const kube::ResourceHealth* EntryOfDevice(const kube::Pod& pod, const Claim& claim,
                                          const DeviceId& device);

}  // namespace galen::cli
