// Whether a node can still be believed to live: what was said of the devices of one that cannot is
// what they were, not what they are. Values; pure.
//
// The signs are those that Kubernetes itself goes by: the node's Lease in kube-node-lease, renewed
// by its kubelet or by our agent in the manager role (KEP-589), and the Ready condition, which the
// node lifecycle controller turns Unknown when a node falls silent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "kube/objects/node_device_health.h"

namespace galen::cli {

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
  Duration holds = Duration::zero();  // how long a renewal holds; zero = not known
  bool operator==(const NodeLease&) const = default;
};
StatusOr<NodeLease> DecodeNodeLease(const Json& lease);

// What the API server says of all nodes; nullopt: it could not be asked, so no node is doubted by
// it.
struct NodeSigns {
  std::optional<std::vector<NodeReady>> nodes;
  std::optional<std::vector<NodeLease>> leases;
};

// Why a node is not believed, and since when it has been silent ({} = not known).
struct Lapse {
  std::string why;
  WallTime since{};
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

}  // namespace galen::cli
