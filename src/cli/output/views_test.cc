#include "cli/output/views.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

const WallTime kViewTime{1'000'000s};

DeviceView FallenGpu() {
  DeviceView gpu;
  gpu.identity = {{"gpu.example.com", "node-7", "gpu-3"}, "1653", "H200"};
  gpu.node = "node-7";
  gpu.health.state = HealthState::kUnhealthy;
  gpu.health.since = kViewTime - 38s;
  gpu.health.cause.code = "XidGpuLost";
  gpu.health.cause.message = "XID 79: GPU has fallen off the bus";
  gpu.deadline_seconds = 30;
  gpu.deadline_source = "driver";
  gpu.holders = {{{"train", "trainer-0"}, "trainer-0-gpu", "gpu"},
                 {{"serve", "llm-0"}, "llm", "gpu"}};
  return gpu;
}

TEST(Views, ShowAPodWithItsDeviceAndWhy) {
  const Fleet fleet{.devices = {FallenGpu()}, .nodes = {}};
  EXPECT_EQ(
      PodsTable(fleet, {.wide = false, .ns = "train", .name = "", .now = kViewTime}).Text(false),
      "NAMESPACE  POD        DEVICE  MODEL  HEALTH     SINCE  REASON      DETAIL\n"
      "train      trainer-0  gpu-3   H200   Unhealthy  38s    XidGpuLost  XID 79: GPU has "
      "fallen off the bus\n");
}

TEST(Views, LeaveModelAndCodeOutInBrief) {
  const Fleet fleet{.devices = {FallenGpu()}, .nodes = {}};
  EXPECT_EQ(
      PodsInBrief(fleet, {.wide = false, .ns = "train", .name = "", .now = kViewTime}).Text(false),
      "POD              DEVICE  HEALTH     SINCE  DETAIL\n"
      "train/trainer-0  gpu-3   Unhealthy  38s    XID 79: GPU has fallen off the bus\n");
}

TEST(Views, SayNodeDriverClaimSerialAndDeadlineWhenWide) {
  const Fleet fleet{.devices = {FallenGpu()}, .nodes = {}};
  const std::string text =
      PodsTable(fleet, {.wide = true, .ns = "", .name = "llm-0", .now = kViewTime}).Text(false);
  EXPECT_NE(text.find("NODE    DRIVER           CLAIM  SERIAL  DEADLINE    DETAIL\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("node-7  gpu.example.com  llm    1653    30s driver  XID 79: GPU has fallen "
                      "off the bus\n"),
            std::string::npos)
      << text;
}

TEST(Views, SayWhereADeadlineComesFrom) {
  const auto deadline = [](std::int64_t seconds, const char* source, const char* rule) {
    DeviceView gpu = FallenGpu();
    gpu.deadline_seconds = seconds;
    gpu.deadline_source = source;
    gpu.deadline_rule = rule;
    const Table table = DevicesTable({.devices = {gpu}, .nodes = {}},
                                     {.wide = true, .ns = "", .name = "", .now = kViewTime});
    EXPECT_EQ(table.header().back(), "DETAIL");
    return table.rows()[0].cells[table.header().size() - 2].text;
  };
  EXPECT_EQ(deadline(30, "default", ""), "30s default");
  EXPECT_EQ(deadline(10, "driver", ""), "10s driver");
  EXPECT_EQ(deadline(45, "config", "pool node-1"), "45s config pool node-1");
  EXPECT_EQ(deadline(5, "config", ""), "5s config") << "a rule for every device";
  EXPECT_EQ(deadline(7, "", ""), "7s") << "an agent that does not say so";
}

TEST(Views, ShowEachDeviceOnceWithAllItsHolders) {
  const Fleet fleet{.devices = {FallenGpu()}, .nodes = {}};
  const std::string text =
      DevicesTable(fleet, {.wide = false, .ns = "", .name = "", .now = kViewTime}).Text(false);
  EXPECT_NE(text.find("train/trainer-0, serve/llm-0"), std::string::npos) << text;
}

TEST(Views, CountANodesDevicesByState) {
  kube::NodeDeviceHealth node;
  node.node = "node-7";
  node.summary = {.devices = 8, .healthy = 6, .degraded = 1, .unhealthy = 1, .unknown = 0};
  kube::NodeDevice worst;
  worst.identity.id.device = "gpu-3";
  worst.state = HealthState::kUnhealthy;
  worst.cause.code = "XidGpuLost";
  node.devices = {worst};
  EXPECT_EQ(NodesTable({.devices = {}, .nodes = {node}}, {}).Text(false),
            "NODE    DEVICES  HEALTHY  DEGRADED  UNHEALTHY  UNKNOWN  WORST      DEVICE  "
            "REASON\n"
            "node-7  8        6        1         1          0        Unhealthy  gpu-3   "
            "XidGpuLost\n");
}

TEST(Views, SayWhyANodesAgentIsNotReadyAndThatItIsNotUp) {
  kube::NodeDeviceHealth node;
  node.node = "node-7";
  node.conditions = {{.type = "Ready", .status = "False", .reason = "AgentStopped"}};
  node.agent_role = "observer";
  node.agent_version = "0.1.0";
  const std::string text = NodesTable({.devices = {}, .nodes = {node}},
                                      {.wide = true, .ns = "", .name = "", .now = kViewTime})
                               .Text(false);
  EXPECT_TRUE(text.ends_with("AgentStopped  observer  0.1.0\n")) << text;
}

TEST(Views, ShowWhichDriverIsNotConnected) {
  kube::NodeDeviceHealth node;
  node.node = "node-7";
  kube::NodeDriver driver;
  driver.name = "gpu.example.com";
  driver.health = "v1";
  node.drivers = {driver};
  const std::string text = DriversTable({.devices = {}, .nodes = {node}}, {}).Text(false);
  EXPECT_NE(text.find("node-7  gpu.example.com  v1      no"), std::string::npos) << text;
}

TEST(Views, SayWhatIsNoDriverButAHealthSource) {
  kube::NodeDeviceHealth node;
  node.node = "node-7";
  node.drivers = {{.name = "gpu.example.com", .version = "v1, health source", .health = "v1"},
                  {.name = "nic.example.com", .version = "v1", .health = "v1"},
                  {.name = "nvidia.com/gpu", .version = "health source", .health = "v1"},
                  {.name = "upg.example.com", .version = "health source", .health = "v1"}};
  EXPECT_EQ(DriversTable({.devices = {}, .nodes = {node}}, {}).Text(false),
            "NODE    DRIVER           HEALTH                             CONNECTED  FOR\n"
            "node-7  gpu.example.com  v1, health source                  no\n"
            "node-7  nic.example.com  v1                                 no\n"
            "node-7  nvidia.com/gpu   v1, health source                  no\n"
            "node-7  upg.example.com  v1, health source, no such driver  no\n");
  const Json json = DriversJson({.devices = {}, .nodes = {node}}, {});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(json["items"][i]["driverMissing"].AsBool(), i == 3) << i;
  }
}

TEST(Views, TellDevicesOfOneNameApartByTheirDriver) {
  DeviceView other = FallenGpu();
  other.identity.id.driver = "gpu.vendor.example";
  const Fleet alike{.devices = {FallenGpu(), other}, .nodes = {}};
  const ViewOptions options{.wide = false, .ns = "train", .name = "", .now = kViewTime};
  for (const Table& table : {DevicesTable(alike, options), PodsTable(alike, options)}) {
    const std::string text = table.Text(false);
    EXPECT_NE(text.find("DRIVER"), std::string::npos) << text;
    EXPECT_NE(text.find("gpu.example.com"), std::string::npos) << text;
    EXPECT_NE(text.find("gpu.vendor.example"), std::string::npos) << text;
    EXPECT_EQ(table.header().back(), "DETAIL");
  }
  other.node = "node-8";
  const Fleet apart{.devices = {FallenGpu(), other}, .nodes = {}};
  EXPECT_EQ(DevicesTable(apart, options).Text(false).find("DRIVER"), std::string::npos);
}

TEST(Views, GiveProgramsStatesByNameAndTimesInFull) {
  const Fleet fleet{.devices = {FallenGpu()}, .nodes = {}};
  const Json json = DevicesJson(fleet, {});
  const Json& device = json["items"][0];
  EXPECT_EQ(device["state"].AsString(), "Unhealthy");
  EXPECT_EQ(device["since"].AsString(), FormatRfc3339(kViewTime - 38s, 3));
  EXPECT_EQ(device["cause"]["code"].AsString(), "XidGpuLost");
  Fleet well = fleet;
  well.devices[0].health.state = HealthState::kHealthy;
  well.devices[0].health.cause = {};
  EXPECT_TRUE(DevicesJson(well, {})["items"][0]["cause"].is_null());
  EXPECT_EQ(device["usedBy"].items().size(), 2u);
  EXPECT_EQ(PodsJson(fleet, {.wide = false, .ns = "serve", .name = "", .now = {}})["items"]
                .items()
                .size(),
            1u);
}

}  // namespace
}  // namespace galen::cli
