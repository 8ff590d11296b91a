#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"
#include "agent/publish/node_publisher.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr WallTime kObjectTime = WallTime(1'795'269'600s);
DeviceId ListedGpu(int i) { return {"gpu.example.com", "node-1", "gpu-" + std::to_string(i)}; }

class NodeHealthTest : public ::testing::Test {
 protected:
  NodeHealthTest() {
    view_.AddPod("a");
    view_.AddClaim("a-gpu", {{"main", ListedGpu(0)}}, "a");
    index_.PodChanged({"default", "a"});
    input_ = {.node = "node-1",
              .version = "1.2.3",
              .role = "observer",
              .started = kObjectTime,
              .synced = true,
              .devices = {{.id = ListedGpu(1), .state = HealthState::kHealthy},
                          {.id = ListedGpu(0),
                           .state = HealthState::kUnhealthy,
                           .cause = {.code = "XidGpuLost", .message = "XID 79"},
                           .since = kObjectTime - 1min}},
              .timeout_of =
                  [](const DeviceId&) {
                    return EffectiveTimeout{1500ms, TimeoutSource::kConfig, "pool node-1"};
                  },
              .identity_of = [](const DeviceId& id) { return DeviceIdentity{id, "S1", "H200"}; },
              .claims = &index_,
              .drivers = {{.name = "gpu.example.com",
                           .endpoint = "/dra.sock",
                           .health = HealthService::kV1,
                           .connected = true,
                           .connected_since = kObjectTime}}};
  }
  kube::NodeDeviceHealth Build(const std::vector<kube::Condition>& before = {},
                               WallTime now = kObjectTime) {
    return NodeHealthOf(input_, before, now);
  }
  static std::string Says(const kube::NodeDeviceHealth& health, const std::string& type) {
    for (const kube::Condition& c : health.conditions) {
      if (c.type == type) return c.status + " " + c.reason;
    }
    return "";
  }

  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  NodeHealthInput input_;
};

TEST_F(NodeHealthTest, AHealthSourceIsListedAndToldFromADriver) {
  input_.health_sources = {
      {.name = "gpu.example.com", .endpoint = "/a.sock", .health = HealthService::kV1},
      {.name = "nvidia.com/gpu", .endpoint = "/b.sock", .health = HealthService::kV1}};
  const kube::NodeDeviceHealth health = Build();
  ASSERT_THAT(health.drivers, SizeIs(2));
  EXPECT_EQ(health.drivers[0].name, "gpu.example.com");
  EXPECT_EQ(health.drivers[0].endpoint, "/dra.sock");
  EXPECT_THAT(health.drivers[0].version, testing::EndsWith(", health source"));
  EXPECT_EQ(health.drivers[1].name, "nvidia.com/gpu");
  EXPECT_EQ(health.drivers[1].version, "health source");
  EXPECT_EQ(health.drivers[1].health, "v1");
  EXPECT_EQ(Says(health, "DriversConnected"), "True AllConnected") << "it is no driver";
}

TEST_F(NodeHealthTest, ListsTheWorstFirstWithWhoUsesIt) {
  const kube::NodeDeviceHealth health = Build();
  ASSERT_THAT(health.devices, SizeIs(2));
  const kube::NodeDevice& worst = health.devices[0];
  EXPECT_EQ(worst.identity, (DeviceIdentity{ListedGpu(0), "S1", "H200"}));
  EXPECT_EQ(worst.deadline_seconds, 2) << "rounded up: it does not pass before it says so";
  EXPECT_EQ(worst.deadline_source + ", " + worst.deadline_rule, "config, pool node-1");
  EXPECT_THAT(worst.used_by, ElementsAre(kube::DeviceUse{{"default", "a"}, "train", "a-gpu"}));
  EXPECT_EQ(health.summary.devices, 2);
  EXPECT_EQ(health.summary.unhealthy, 1);
}

TEST_F(NodeHealthTest, ItsConditionsSumUpTheNode) {
  EXPECT_EQ(Says(Build(), "Ready"), "True Running");
  EXPECT_EQ(Says(Build(), "DevicesHealthy"), "False XidGpuLost");
  EXPECT_EQ(Says(Build(), "DriversConnected"), "True AllConnected");
  input_.drivers[0].connected = false;
  EXPECT_EQ(Says(Build(), "DriversConnected"), "False DriverGone");
  input_.drivers.clear();
  EXPECT_EQ(Says(Build(), "DriversConnected"), "True NoDrivers");
  input_.synced = false;
  EXPECT_EQ(Says(Build(), "Ready"), "False NotSynced");
  input_.stopped = true;
  EXPECT_EQ(Says(Build(), "Ready"), "False AgentStopped");
}

TEST_F(NodeHealthTest, ADriverOfTwoInstancesIsListedOnceByItsAuthority) {
  input_.drivers.push_back({.name = "gpu.example.com", .endpoint = "/old.sock"});
  input_.drivers.push_back({.name = "nic.example.com", .endpoint = "/nic.sock"});
  const kube::NodeDeviceHealth health = Build();
  ASSERT_THAT(health.drivers, SizeIs(2));
  EXPECT_EQ(health.drivers[0].endpoint, "/dra.sock");
}

TEST_F(NodeHealthTest, CutsWhatADriverSaysToWhatTheObjectTakes) {
  const std::string text(1024, 'x');
  input_.devices[1].cause = {
      .code = text, .message = text, .value = text, .threshold = text, .unit = text};
  input_.identity_of = [&](const DeviceId& id) { return DeviceIdentity{id, text, text}; };
  const kube::NodeDevice worst = Build().devices[0];
  EXPECT_EQ(worst.cause.message.size(), kCauseMessageBytesMax);
  EXPECT_EQ(worst.cause.unit.size(), kube::kUnitBytesMax);
  for (const std::string& fact : {worst.cause.code, worst.cause.value, worst.cause.threshold,
                                  worst.identity.serial, worst.identity.model}) {
    EXPECT_EQ(fact.size(), kube::kDeviceFactBytesMax);
  }
}

TEST_F(NodeHealthTest, OneInstanceThatIsConnectedIsEnough) {
  input_.drivers.push_back({.name = "gpu.example.com", .endpoint = "/old.sock"});
  EXPECT_EQ(Says(Build(), "DriversConnected"), "True AllConnected");
}

TEST_F(NodeHealthTest, SaysTheSameLaterWhenNothingChanged) {
  const kube::NodeDeviceHealth first = Build();
  EXPECT_TRUE(kube::SaysTheSame(first, Build(first.conditions, kObjectTime + 1h)));
  input_.drivers[0].last_report = kObjectTime + 30min;
  input_.drivers[0].reports = 180;
  EXPECT_TRUE(kube::SaysTheSame(first, Build(first.conditions, kObjectTime + 1h)));
}

// What the list has no room for still counts: a cut list must not sound better than it is.
TEST_F(NodeHealthTest, ItsConditionIsOfAllDevicesAndNotOfThoseThatAreListed) {
  input_.devices.clear();
  for (int i = 0; i < 300; ++i) {
    input_.devices.push_back({.id = ListedGpu(i), .state = HealthState::kDegraded, .share = 0.5});
  }
  input_.devices.push_back(
      {.id = ListedGpu(300), .state = HealthState::kUnknown, .cause = {.code = "DriverGone"}});
  EXPECT_EQ(Says(Build(), "DevicesHealthy"), "Unknown DriverGone");
  EXPECT_EQ(Build().summary.unknown, 1);
}

TEST_F(NodeHealthTest, ListsHowADeviceWasAtAPodsEndAndWhenAFaultCameLater) {
  history::PostMortem record;
  record.first = record.ended = kObjectTime;
  history::ReceivedFinding well, lost;
  well.health = {.id = ListedGpu(0), .state = HealthState::kHealthy};
  lost.health = {.id = ListedGpu(0),
                 .state = HealthState::kUnhealthy,
                 .cause = {.code = "XidGpuLost", .message = "XID 79"},
                 .since = kObjectTime + 13s};
  record.devices.emplace_back().findings = {well, lost};
  record.devices[0].identity.id = ListedGpu(0);
  const std::vector<history::PostMortem> records = {record};
  input_.post_mortems = &records;
  const kube::NodePostMortem entry = Build().post_mortems.at(0);
  EXPECT_EQ(entry.state, HealthState::kHealthy);
  EXPECT_EQ(entry.code, "XidGpuLost");
  EXPECT_EQ(entry.message, "Unhealthy 13s after the end: XID 79");
}

TEST_F(NodeHealthTest, StaysBoundedAndCountsAll) {
  for (int i = 2; i < 5000; ++i) {
    input_.devices.push_back({.id = ListedGpu(i), .state = HealthState::kHealthy});
  }
  const kube::NodeDeviceHealth health = Build();
  EXPECT_THAT(health.devices, SizeIs(kube::kNodeDevicesMax));
  EXPECT_EQ(health.devices[0].state, HealthState::kUnhealthy);
  EXPECT_EQ(health.summary.devices, 5000);
}

}  // namespace
}  // namespace galen::agent
