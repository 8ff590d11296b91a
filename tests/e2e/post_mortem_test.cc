// A Pod that is gone, asked for with real processes: its GPU fails after it was deleted, its agent
// is killed, and its record has the fault all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kClass =
    "{metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "
    "'device.driver == \"gpu.example.com\"'}}]}}";
constexpr const char* kTemplate =
    "{metadata: {name: one-gpu}, spec: {spec: {devices: {requests: "
    "[{name: gpu, exactly: {deviceClassName: gpu}}]}}}}";
constexpr const char* kPod =
    "{metadata: {name: trainer-0}, spec: {containers: [{name: train, image: t, resources: "
    "{claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, resourceClaimTemplateName: "
    "one-gpu}]}}";

// The name of the device in the one row of `galen get pods`.
std::string DeviceIn(const std::string& pods) {
  const std::size_t at = pods.find("gpu-");
  return at == std::string::npos ? "" : pods.substr(at, pods.find(' ', at) - at);
}

TEST(PostMortem, OfAPodThatIsGoneShowsAFaultThatCameLaterOverAKillOfTheAgent) {
  FleetStage fleet;
  ASSERT_TRUE(fleet.serves());
  Stage& stage = fleet.stage();
  fleet.InstallDefinitions();
  fleet.StartGpuDriver();
  Program& agent = fleet.StartAgent();
  fleet.Create(kube::kDeviceClasses, "", kClass);
  fleet.Create(kube::kResourceClaimTemplates, "default", kTemplate);
  ASSERT_TRUE(fleet.GalenSays({"get", "devices"}, "Healthy"));
  fleet.Create(kube::kPods, "default", kPod);
  ASSERT_TRUE(fleet.GalenSays({"get", "pods"}, "Healthy"));
  const std::string gpu = DeviceIn(fleet.Galen({"get", "pods"}).output);
  ASSERT_FALSE(gpu.empty());

  const auto gone = fleet.session().Fetch(
      kube::Delete(kube::kPods, "default", "trainer-0", {.grace_seconds = 0}));
  ASSERT_TRUE(gone.ok()) << ToString(gone.status());
  ASSERT_TRUE(fleet.GalenSays({"post-mortem"}, "Deleted"));
  ASSERT_EQ(fleet.Galen({"inject", gpu, "xid=79"}).exit_code, 0);
  agent.Signal(SIGKILL);
  ASSERT_TRUE(stage.Until([&] { return !agent.running(); }));
  fleet.StartAgent();

  EXPECT_TRUE(fleet.GalenSays({"post-mortem", "trainer-0"}, "XID 79"));
  const Outcome list = fleet.Galen({"post-mortem"});
  EXPECT_EQ(list.exit_code, 0) << list.error;
  EXPECT_THAT(list.output, HasSubstr("trainer-0"));
  EXPECT_THAT(list.output, HasSubstr("Unhealthy"));
  const auto json = Json::Parse(fleet.Galen({"post-mortem", "-o", "json"}).output);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["items"][0]["devices"][0]["device"].AsString(), gpu);
  EXPECT_TRUE(fleet.GalenSays({"why", "trainer-0"}, "trainer-0 ran on node-7 and held one device"));
  EXPECT_TRUE(fleet.GalenSays({"get", "nodes", "-o", "json"}, "postMortems"));
  const Outcome nobody = fleet.Galen({"post-mortem", "nobody"});
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.error, HasSubstr("no record of pod nobody: the agent of "));
  EXPECT_THAT(nobody.error, HasSubstr("has no record of it, and no node's object has one"));
}

}  // namespace
}  // namespace galen::e2e
