// The cluster's devices, joined from its objects: slices list the devices, claims their holders,
// NodeDeviceHealth their health, the Pod's own status where no galen-agent reports, and nodes and
// Leases show whether the information is current. Pure; the commands fetch, this joins.
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

// ---- Whether a node is alive: the last health of a dead node's devices is stale. Values; pure.
//
// The signs are those that Kubernetes itself goes by: the node's Lease in kube-node-lease, renewed
// by its kubelet or by our agent in the manager role (KEP-589), and the Ready condition, which the
// node lifecycle controller turns Unknown when a node falls silent.

// The code of the cause that such a device is shown with: its node fell silent.
inline constexpr std::string_view kAgentGone = "AgentGone";
// The same where the agent announced its stop; also the reason in its Ready condition.
inline constexpr std::string_view kAgentStopped = "AgentStopped";
// The namespace of nodes' Leases.
inline constexpr std::string_view kNodeLeases = "kube-node-lease";

// A Node's Ready condition.
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
  std::optional<Duration> holds;  // how long a renewal holds; nullopt: not known
  bool operator==(const NodeLease&) const = default;
};
StatusOr<NodeLease> DecodeNodeLease(const Json& lease);

// The API server's information about all nodes; nullopt: it could not be asked, so no node is
// doubted for it.
struct NodeSigns {
  std::optional<std::vector<NodeReady>> nodes;
  std::optional<std::vector<NodeLease>> leases;
};

// Why a node counts as lapsed, and since when it has been silent, if known.
struct Lapse {
  std::string why;
  std::optional<WallTime> since;
  std::string_view code = kAgentGone;
};

// The lapse of a node whose agent was stopped, by its own last status (Ready is False,
// AgentStopped); nullopt without one.
std::optional<Lapse> Goodbye(const kube::NodeDeviceHealth& node);

// Which of the nodes in the signs have lapsed.
class NodeLives {
 public:
  // `now` is this machine's clock, for judging Leases; {} = do not judge them.
  NodeLives(const NodeSigns& signs, WallTime now);

  // nullopt: not lapsed, as far as is known. `must_exist`: a node that the API server does not have
  // has lapsed; otherwise it is only unknown, as for a pool that belongs to no node.
  std::optional<Lapse> Find(const std::string& node, bool must_exist) const;

 private:
  bool nodes_known_;
  std::map<std::string, std::optional<Lapse>> lapses_;  // of every node in the signs
};

// Makes a finding of a lapsed node Unknown since the node fell silent, with its last text.
void Doubt(HealthState& state, Cause& cause, const Lapse& lapse);

// Doubts everything in a lapsed node's object except the agent's own announcement.
void Doubt(kube::NodeDeviceHealth& node, const Lapse& lapse);

// One Pod's hold on one device.
struct Holding {
  ObjectKey pod;
  std::string claim;  // the ResourceClaim's name; "" for a device plugin's device
  std::string request;
  std::string pod_uid = {};  // a claim may still be reserved for a former Pod of that name

  auto operator<=>(const Holding&) const = default;
};

// One device with all that is known of it.
struct DeviceView {
  DeviceIdentity identity;
  // From its slice; if that has none, the pool's name, which most drivers take from the node.
  std::string node;
  DeviceHealth health;  // Unknown, NotReported when nobody reported it
  // How long its driver's report holds, who decided that, and by which rule of the operator's
  // ("pool node-7"); nullopt and "": not known.
  std::optional<std::int64_t> deadline_seconds;
  std::string deadline_source;
  std::string deadline_rule;
  std::vector<Holding> holders;
};

// The whole fleet at one moment.
struct Fleet {
  std::vector<DeviceView> devices;  // worse first, then by node and name
  // The agents' objects, for views of nodes and drivers.
  std::vector<kube::NodeDeviceHealth> nodes;
  bool kind_missing = false;  // so no agent could report any
};

// The note if the cluster has no NodeDeviceHealth kind; and the short form for one device.
inline constexpr std::string_view kKindMissing =
    "this cluster has no NodeDeviceHealth kind: kubectl apply -f "
    "deploy/crds/nodedevicehealths.yaml";
inline constexpr std::string_view kKindMissingShort =
    "this cluster has no NodeDeviceHealth kind, by which agents report";

// The API server's objects.
struct FleetObjects {
  std::vector<kube::Pod> pods;
  std::vector<Claim> claims;
  std::vector<kube::ResourceSlice> slices;
  std::vector<kube::NodeDeviceHealth> healths;
  NodeSigns signs = {};
  bool kind_missing = false;  // the cluster does not have NodeDeviceHealth at all
};

// `now` as for NodeLives: findings of nodes that fell silent are Unknown, AgentGone; findings of a
// stopped agent are AgentStopped, at once.
Fleet JoinFleet(const FleetObjects& objects, WallTime now = {});

// ---- A Pod's own status about a device: the kubelet's field, for devices that no galen-agent
// reports. Pure.

// The entry of allocatedResourcesStatus for `device` of `claim`; null when there is none, or it is
// ambiguous. An entry is named claim:<pod's claim>[/<request>]; its resourceID is the device's
// first CDI id, whose name the driver is free to choose, or driver/pool/device (KEP-4680). So the
// device is found by the claim's allocation: the only one that was allocated to the entry's
// request, or the one whose name ends the id.
const kube::ResourceHealth* EntryOfDevice(const kube::Pod& pod, const Claim& claim,
                                          const DeviceId& device);

}  // namespace galen::cli
