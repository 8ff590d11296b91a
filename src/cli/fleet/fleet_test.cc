#include "cli/fleet/fleet.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

const DeviceId kGpu3{"gpu.example.com", "node-7", "gpu-3"};
const DeviceId kGpu4{"gpu.example.com", "node-7", "gpu-4"};

kube::ResourceSlice SliceOfNode7() {
  kube::ResourceSlice slice;
  slice.driver = "gpu.example.com";
  slice.pool = slice.node = "node-7";
  for (const std::string name : {"gpu-3", "gpu-4"}) {
    kube::SliceDevice device;
    device.name = name;
    device.attributes["model"] = std::string("H200");
    slice.devices.push_back(device);
  }
  return slice;
}

kube::NodeDeviceHealth HealthOfNode7(const DeviceId& device, HealthState state) {
  kube::NodeDeviceHealth health;
  health.node = "node-7";
  kube::NodeDevice entry;
  entry.identity.id = device;
  entry.identity.serial = "1653";
  entry.state = state;
  entry.cause.code = "XidGpuLost";
  health.devices.push_back(entry);
  return health;
}

Claim ClaimOf(const DeviceId& device, const std::string& pod) {
  Claim claim;
  claim.key = {"train", pod + "-gpu"};
  claim.devices.push_back({"gpu", device, "", false});
  claim.reserved_for.push_back({{"train", pod}, "uid-" + pod});
  return claim;
}

TEST(Fleet, JoinsWhatSlicesClaimsAndHealthSayOfADevice) {
  const Fleet fleet = JoinFleet({.pods = {},
                                 .claims = {ClaimOf(kGpu3, "trainer-0")},
                                 .slices = {SliceOfNode7()},
                                 .healths = {HealthOfNode7(kGpu3, HealthState::kUnhealthy)}});
  ASSERT_EQ(fleet.devices.size(), 2u);
  const DeviceView& worst = fleet.devices[0];
  EXPECT_EQ(worst.identity, (DeviceIdentity{kGpu3, "1653", "H200"}));
  EXPECT_EQ(worst.health.state, HealthState::kUnhealthy);
  EXPECT_EQ(worst.node, "node-7");
  EXPECT_EQ(
      worst.holders,
      (std::vector<Holding>{{{"train", "trainer-0"}, "trainer-0-gpu", "gpu", "uid-trainer-0"}}));
}

TEST(Fleet, ShowsWhoHoldsADevicePluginsDeviceAsTheAgentSays) {
  const DeviceId gpu{"nvidia.com/gpu", "node-7", "GPU-5f3c"};
  kube::NodeDeviceHealth health = HealthOfNode7(gpu, HealthState::kUnhealthy);
  health.devices[0].used_by = {{{"train", "trainer-0"}, "main", ""},
                               {{"train", "trainer-0"}, "side", ""}};
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  pod.meta.uid = "uid-0";
  const Fleet fleet = JoinFleet({.pods = {pod}, .claims = {}, .slices = {}, .healths = {health}});
  ASSERT_EQ(fleet.devices.size(), 1u);
  EXPECT_EQ(fleet.devices[0].holders,
            (std::vector<Holding>{{{"train", "trainer-0"}, "", "", "uid-0"}}));
}

TEST(Fleet, ShowsTheRunningPodsThatNameTheClaimOfAGroup) {
  Claim claim = ClaimOf(kGpu3, "gang");
  claim.reserved_for.clear();
  claim.reserved_for_groups = {"gang"};
  std::vector<kube::Pod> pods;
  for (const std::string name :
       {"member-0", "member-1", "done", "other", "far", "stranger", "alone"}) {
    kube::Pod& pod = pods.emplace_back();
    pod.meta.key = {"train", name};
    pod.meta.uid = "uid-" + name;
    pod.phase = name == "done" ? "Succeeded" : "Running";
    pod.claims.push_back({"gpu", name == "other" ? "another" : "gang-gpu", ""});
    pod.group = name == "stranger" ? "others" : name == "alone" ? "" : "gang";
    if (name == "far") pod.meta.key.ns = "serve";
  }
  const Fleet fleet = JoinFleet({.pods = pods, .claims = {claim}, .slices = {}, .healths = {}});
  ASSERT_EQ(fleet.devices.size(), 1u);
  EXPECT_EQ(fleet.devices[0].holders,
            (std::vector<Holding>{{{"train", "member-0"}, "gang-gpu", "gpu", "uid-member-0"},
                                  {{"train", "member-1"}, "gang-gpu", "gpu", "uid-member-1"}}));
}

TEST(Fleet, CallsADeviceThatNobodyReportedUnknownNotHealthy) {
  const Fleet fleet =
      JoinFleet({.pods = {}, .claims = {}, .slices = {SliceOfNode7()}, .healths = {}});
  for (const DeviceView& device : fleet.devices) {
    EXPECT_EQ(device.health.state, HealthState::kUnknown);
    EXPECT_EQ(device.health.cause.code, cause_code::kNotReported);
  }
}

TEST(Fleet, TakesThePodsStatusWhereNoAgentReports) {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-1"};
  pod.meta.uid = "uid-trainer-1";
  pod.statuses.push_back({});
  pod.claims.push_back({"gpu", "trainer-1-gpu", ""});
  pod.statuses[0].allocated.push_back(
      {"claim:gpu", {{"gpu.example.com/claim=9856bc7a-gpu-4", "Unhealthy", "ECC"}}});
  const Fleet fleet = JoinFleet(
      {.pods = {pod}, .claims = {ClaimOf(kGpu4, "trainer-1")}, .slices = {}, .healths = {}});
  ASSERT_EQ(fleet.devices.size(), 1u);
  EXPECT_EQ(fleet.devices[0].health.state, HealthState::kUnhealthy);
  EXPECT_EQ(fleet.devices[0].health.cause.message, "ECC");
}

// The claim is still reserved for the Pod that had the name before.
TEST(Fleet, TakesNoStatusOfAPodThatWasMadeAgainUnderTheHoldersName) {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-1"};
  pod.meta.uid = "uid-of-another";
  pod.claims.push_back({"gpu", "trainer-1-gpu", ""});
  pod.statuses.push_back({});
  pod.statuses[0].allocated.push_back(
      {"claim:gpu", {{"gpu.example.com/claim=9856bc7a-gpu-4", "Unhealthy", "ECC"}}});
  const Fleet fleet = JoinFleet(
      {.pods = {pod}, .claims = {ClaimOf(kGpu4, "trainer-1")}, .slices = {}, .healths = {}});
  ASSERT_EQ(fleet.devices.size(), 1u);
  EXPECT_EQ(fleet.devices[0].health.state, HealthState::kUnknown);
}

TEST(Fleet, BelievesTheAgentBeforeThePod) {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  pod.meta.uid = "uid-trainer-0";
  pod.statuses.push_back({});
  pod.claims.push_back({"gpu", "trainer-0-gpu", ""});
  pod.statuses[0].allocated.push_back(
      {"claim:gpu", {{"gpu.example.com/claim=9856bc7a-gpu-3", "Healthy", ""}}});
  const Fleet fleet = JoinFleet({.pods = {pod},
                                 .claims = {ClaimOf(kGpu3, "trainer-0")},
                                 .slices = {},
                                 .healths = {HealthOfNode7(kGpu3, HealthState::kUnhealthy)}});
  EXPECT_EQ(fleet.devices[0].health.state, HealthState::kUnhealthy);
}

TEST(Fleet, ShowsTheWorstFirst) {
  const Fleet fleet = JoinFleet({.pods = {},
                                 .claims = {},
                                 .slices = {SliceOfNode7()},
                                 .healths = {HealthOfNode7(kGpu4, HealthState::kUnhealthy)}});
  EXPECT_EQ(fleet.devices[0].identity.id, kGpu4);
}

NodeSigns SilentNode7(WallTime renewed) {
  return {.nodes = {{NodeReady{"node-7", "True", {}}}},
          .leases = {{NodeLease{"node-7", renewed, std::chrono::seconds(40)}}}};
}

TEST(Fleet, CallsNoDeviceHealthyWhoseNodeFellSilent) {
  const WallTime renewed{std::chrono::seconds(1'000'000)};
  const FleetObjects objects{.pods = {},
                             .claims = {},
                             .slices = {},
                             .healths = {HealthOfNode7(kGpu3, HealthState::kHealthy)},
                             .signs = SilentNode7(renewed)};
  EXPECT_EQ(JoinFleet(objects, renewed + std::chrono::seconds(39)).devices[0].health.state,
            HealthState::kHealthy);
  const Fleet fleet = JoinFleet(objects, renewed + std::chrono::seconds(95));
  EXPECT_EQ(fleet.devices[0].health.state, HealthState::kUnknown);
  EXPECT_EQ(fleet.devices[0].health.cause.code, kAgentGone);
  EXPECT_EQ(fleet.devices[0].health.since, renewed);
  EXPECT_EQ(fleet.nodes[0].devices[0].state, HealthState::kUnknown);
}

TEST(Fleet, BelievesAnAgentThatSaysItIsStopped) {
  const WallTime stopped{std::chrono::seconds(1'000'000)};
  kube::NodeDeviceHealth node = HealthOfNode7(kGpu3, HealthState::kHealthy);
  node.conditions = {{"Ready", "False", "AgentStopped", "galen-agent was stopped", stopped}};
  // Its Lease holds for a while yet.
  const Fleet fleet = JoinFleet(
      {.pods = {}, .claims = {}, .slices = {}, .healths = {node}, .signs = SilentNode7(stopped)},
      stopped + std::chrono::seconds(1));
  EXPECT_EQ(fleet.devices[0].health.state, HealthState::kUnknown);
  EXPECT_EQ(fleet.devices[0].health.cause.code, kAgentStopped);
  EXPECT_EQ(fleet.devices[0].health.cause.message,
            "galen-agent of node node-7 was stopped; last known as Healthy");
  EXPECT_EQ(fleet.devices[0].health.since, stopped);
}

TEST(Fleet, BlamesTheMissingKindAndNotTheAgents) {
  const std::vector<Claim> claims = {ClaimOf(kGpu4, "trainer-1")};
  EXPECT_EQ(JoinFleet({.pods = {}, .claims = claims, .slices = {}, .healths = {}})
                .devices[0]
                .health.cause.message,
            "no agent has reported this device");
  const Fleet fleet =
      JoinFleet({.pods = {}, .claims = claims, .slices = {}, .healths = {}, .kind_missing = true});
  EXPECT_EQ(fleet.devices[0].health.cause.message, kKindMissingShort);
  EXPECT_EQ(fleet.devices[0].health.cause.code, cause_code::kNotReported);
}

TEST(Fleet, DoubtsTheStatusOfASilentNodesKubeletToo) {
  const WallTime renewed{std::chrono::seconds(1'000'000)};
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-1"};
  pod.meta.uid = "uid-trainer-1";
  pod.statuses.push_back({});
  pod.claims.push_back({"gpu", "trainer-1-gpu", ""});
  pod.statuses[0].allocated.push_back({"claim:gpu", {{"a/b=c", "Healthy", ""}}});
  const Fleet fleet = JoinFleet({.pods = {pod},
                                 .claims = {ClaimOf(kGpu4, "trainer-1")},
                                 .slices = {},
                                 .healths = {},
                                 .signs = SilentNode7(renewed)},
                                renewed + std::chrono::hours(1));
  EXPECT_EQ(fleet.devices[0].health.state, HealthState::kUnknown);
}

kube::ResourceSlice SliceOf(std::int64_t generation, std::int64_t count, const std::string& name) {
  kube::ResourceSlice slice;
  slice.driver = "gpu.example.com";
  slice.pool = slice.node = "node-7";
  slice.generation = generation;
  slice.slice_count = count;
  slice.devices.push_back({name, {}, {}, {}});
  return slice;
}

std::vector<std::string> NamesIn(std::vector<kube::ResourceSlice> slices) {
  std::vector<std::string> names;
  const Fleet fleet =
      JoinFleet({.pods = {}, .claims = {}, .slices = std::move(slices), .healths = {}});
  for (const DeviceView& device : fleet.devices) names.push_back(device.identity.id.device);
  return names;
}

TEST(Fleet, ShowsNoDeviceOfAPoolsOldGeneration) {
  EXPECT_EQ(NamesIn({SliceOf(1, 1, "gone"), SliceOf(2, 1, "gpu-0")}),
            (std::vector<std::string>{"gpu-0"}));
}

TEST(Fleet, KeepsTheLastWholeGenerationWhileTheNextIsIncomplete) {
  EXPECT_EQ(NamesIn({SliceOf(1, 1, "gpu-0"), SliceOf(2, 2, "gpu-1")}),
            (std::vector<std::string>{"gpu-0"}));
  EXPECT_EQ(NamesIn({SliceOf(1, 2, "gpu-0"), SliceOf(2, 2, "gpu-1")}),
            (std::vector<std::string>{"gpu-1"}))
      << "none is whole: the newest";
}

}  // namespace
}  // namespace galen::cli
