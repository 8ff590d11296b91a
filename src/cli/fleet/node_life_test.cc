#include <gtest/gtest.h>

#include "base/data/yaml.h"
#include "cli/fleet/fleet.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

const WallTime kNow = *ParseRfc3339("2026-11-21T14:02:11Z");

// As a kubelet and the node lifecycle controller write them.
NodeReady Ready(const std::string& status) {
  return *DecodeNodeReady(
      *ParseYaml("{metadata: {name: node-7, uid: u}, status: {conditions: ["
                 "{type: MemoryPressure, status: Unknown}, "
                 "{type: Ready, status: '" +
                 status + "', lastTransitionTime: '2026-11-21T14:00:00Z'}]}}"));
}

NodeLease RenewedBefore(Duration age) {
  return *DecodeNodeLease(
      *ParseYaml("{metadata: {name: node-7, namespace: kube-node-lease, uid: u}, "
                 "spec: {holderIdentity: node-7, leaseDurationSeconds: 40, renewTime: '" +
                 FormatRfc3339(kNow - age, 6) + "'}}"));
}

std::optional<Lapse> LapseOf(const NodeSigns& signs, bool must_exist = true) {
  return NodeLives(signs, kNow).Find("node-7", must_exist);
}

TEST(NodeLife, IsBelievedWhileTheLeaseHolds) {
  EXPECT_FALSE(LapseOf({.nodes = {{Ready("True")}}, .leases = {{RenewedBefore(40s)}}}));
}

TEST(NodeLife, EndsWhenTheLeaseHasRunOut) {
  const auto lapse = LapseOf({.nodes = {{Ready("True")}}, .leases = {{RenewedBefore(95s)}}});
  ASSERT_TRUE(lapse);
  EXPECT_EQ(lapse->since, kNow - 95s);
  EXPECT_NE(lapse->why.find("node-7"), std::string::npos);
}

TEST(NodeLife, EndsWhenTheClusterHasLostTheNodeButNotWhenAKubeletSaysNotReady) {
  EXPECT_TRUE(LapseOf({.nodes = {{Ready("Unknown")}}, .leases = {}}));
  EXPECT_FALSE(LapseOf({.nodes = {{Ready("False")}}, .leases = {}}));
}

TEST(NodeLife, EndsWithItsNode) {
  const NodeSigns gone{.nodes = std::vector<NodeReady>(), .leases = {{RenewedBefore(1s)}}};
  const auto lapse = LapseOf(gone);
  ASSERT_TRUE(lapse);
  EXPECT_NE(lapse->why.find("not in the cluster"), std::string::npos);
  EXPECT_FALSE(LapseOf(gone, false)) << "a pool need not be called after a node";
}

TEST(NodeLife, IsNotDoubtedByWhatCouldNotBeAsked) { EXPECT_FALSE(LapseOf({})); }

TEST(NodeLife, LeavesOfALapsedNodesReportOnlyWhatItWas) {
  kube::NodeDeviceHealth node;
  node.devices.resize(1);
  node.devices[0].state = HealthState::kHealthy;
  node.summary = {.devices = 8, .healthy = 8, .degraded = 0, .unhealthy = 0, .unknown = 0};
  node.drivers.resize(1);
  node.drivers[0].connected_since = kNow - 1h;
  Doubt(node, {.why = "node node-7 is gone", .since = kNow - 95s});
  EXPECT_EQ(node.devices[0].state, HealthState::kUnknown);
  EXPECT_EQ(node.devices[0].cause.code, kAgentGone);
  EXPECT_EQ(node.devices[0].cause.message, "node node-7 is gone; last known as Healthy");
  EXPECT_EQ(node.devices[0].since, kNow - 95s);
  EXPECT_EQ(node.summary.healthy, 0);
  EXPECT_EQ(node.summary.unknown, 8);
  EXPECT_FALSE(node.drivers[0].connected_since);
}

TEST(NodeLife, EndsAtOnceWhenTheAgentSaysGoodbye) {
  kube::NodeDeviceHealth node;
  node.node = "node-7";
  node.agent_since = kNow - 1h;
  node.conditions = {{.type = "Ready", .status = "True", .reason = "Watching"},
                     {.type = "DevicesHealthy", .status = "True", .reason = "AllHealthy"}};
  EXPECT_FALSE(Goodbye(node));
  node.conditions[0] = {"Ready", "False", std::string(kAgentStopped), "it was stopped", kNow - 2s};
  const auto lapse = Goodbye(node);
  ASSERT_TRUE(lapse);
  EXPECT_EQ(lapse->since, kNow - 2s);
  Doubt(node, *lapse);
  EXPECT_EQ(node.conditions[0].status, "False") << "its own report needs no doubt";
  EXPECT_EQ(node.conditions[0].message, "it was stopped");
  EXPECT_EQ(node.conditions[1].status, "Unknown");
  EXPECT_EQ(node.conditions[1].reason, kAgentStopped);
  EXPECT_FALSE(node.agent_since) << "it is not up";
}

}  // namespace
}  // namespace galen::cli
