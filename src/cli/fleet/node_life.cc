#include <fmt/core.h>

#include "cli/fleet/fleet.h"
#include "kube/objects/meta.h"

namespace galen::cli {

StatusOr<NodeReady> DecodeNodeReady(const Json& node) {
  ASSIGN_OR_RETURN(const kube::Meta meta, kube::DecodeMeta(node));
  NodeReady ready{.node = meta.key.name, .status = "", .changed = {}};
  for (const Json& condition : node["status"]["conditions"].items()) {
    if (condition["type"].AsString() != "Ready") continue;
    ready.status = condition["status"].AsString();
    ready.changed = kube::DecodeTime(condition["lastTransitionTime"]);
  }
  return ready;
}

StatusOr<NodeLease> DecodeNodeLease(const Json& lease) {
  ASSIGN_OR_RETURN(const kube::Meta meta, kube::DecodeMeta(lease));
  const Json& spec = lease["spec"];
  NodeLease decoded{.node = meta.key.name, .renewed = kube::DecodeTime(spec["renewTime"])};
  const std::int64_t seconds = spec["leaseDurationSeconds"].AsInt();
  if (seconds > 0) decoded.holds = std::chrono::seconds(seconds);
  return decoded;
}

NodeLives::NodeLives(const NodeSigns& signs, WallTime now) : nodes_known_(signs.nodes.has_value()) {
  if (signs.nodes) {
    for (const NodeReady& node : *signs.nodes) {
      std::optional<Lapse>& lapse = lapses_[node.node];
      // "False" is written by a live kubelet; "Unknown" by the node controller for a silent one.
      if (node.status != "Unknown") continue;
      lapse = Lapse{.why = fmt::format("the cluster has lost node {}", node.node),
                    .since = node.changed};
    }
  }
  if (!signs.leases || now == WallTime{}) return;
  for (const NodeLease& lease : *signs.leases) {
    // A Lease may outlive its node, and the missing node is then the better reason.
    const auto node = lapses_.find(lease.node);
    if (nodes_known_ && node == lapses_.end()) continue;
    if (!lease.renewed || !lease.holds || now - *lease.renewed <= *lease.holds) continue;
    lapses_[lease.node] =
        Lapse{.why = fmt::format("node {} has been silent since {}: its Lease expired", lease.node,
                                 FormatRfc3339(*lease.renewed)),
              .since = lease.renewed};
  }
}

std::optional<Lapse> NodeLives::Find(const std::string& node, bool must_exist) const {
  const auto it = lapses_.find(node);
  if (it != lapses_.end()) return it->second;
  if (!nodes_known_ || !must_exist) return std::nullopt;
  return Lapse{.why = fmt::format("node {} is not in the cluster any more", node), .since = {}};
}

std::optional<Lapse> Goodbye(const kube::NodeDeviceHealth& node) {
  for (const kube::Condition& condition : node.conditions) {
    if (condition.type != "Ready" || condition.reason != kAgentStopped) continue;
    return Lapse{.why = fmt::format("galen-agent of node {} was stopped", node.node),
                 .since = condition.changed,
                 .code = kAgentStopped};
  }
  return std::nullopt;
}

void Doubt(HealthState& state, Cause& cause, const Lapse& lapse) {
  std::string last = std::string(ToString(state));
  if (!cause.message.empty()) last += ": " + cause.message;
  state = HealthState::kUnknown;
  cause = Cause{.code = std::string(lapse.code),
                .message = fmt::format("{}; last known as {}", lapse.why, last),
                .value = "",
                .threshold = "",
                .unit = "",
                .owner = FaultOwner::kPlatform};
}

void Doubt(kube::NodeDeviceHealth& node, const Lapse& lapse) {
  for (kube::NodeDevice& device : node.devices) {
    Doubt(device.state, device.cause, lapse);
    device.share = 1.0;
    if (lapse.since) device.since = lapse.since;
  }
  const int devices = node.summary.devices;
  node.summary = {
      .devices = devices, .healthy = 0, .degraded = 0, .unhealthy = 0, .unknown = devices};
  for (kube::Condition& condition : node.conditions) {
    if (condition.type == "Ready" && condition.reason == lapse.code) continue;
    condition.status = "Unknown";
    condition.reason = lapse.code;
    condition.message = lapse.why;
  }
  for (kube::NodeDriver& driver : node.drivers) driver.connected_since.reset();
  node.agent_since.reset();
}

}  // namespace galen::cli
