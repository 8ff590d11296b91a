// What is known to go wrong elsewhere on the way of a device's health to its Pod; each test is
// named by what goes wrong, and shows that here it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"
#include "agent/app/fake_endings.h"
#include "api_sim/objects/fake_objects.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

FakeReport LostDevice(const std::string& device) {
  return {.device = device, .health = 2, .message = "XID 79", .code = "XidGpuLost"};
}

// A node with one driver of one device and one running Pod that holds it.
struct RunningPod {
  explicit RunningPod(Role role) : node(role), driver(node.AddDriver({"gpu-0"})) {
    node.AddPod("trainer-0");
    node.StartAgent();
    node.Pass(5s);
    EXPECT_EQ(node.Annotation("trainer-0"), "gpu-0 Healthy");
  }

  AgentNode node;
  FakePlugin& driver;
};

TEST(KnownDefect, ClaimsFromTemplatesHaveNoHealth) {
  RunningPod at(Role::kManager);
  const Json pod = at.node.cluster.Pod("trainer-0");
  ASSERT_NE(pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"].AsString(), "gpu")
      << "the object is named otherwise than the Pod names it";
  EXPECT_THAT(at.node.Allocated("trainer-0"), StartsWith("claim:gpu "));
}

TEST(KnownDefect, AHungDriversDevicesStayHealthyUntilSomethingElseHappens) {
  for (const Role role : {Role::kObserver, Role::kManager}) {
    RunningPod at(role);
    at.driver.Report({{.device = "gpu-0", .timeout_seconds = 10}});
    at.node.Pass(10s - 1ms);
    EXPECT_EQ(at.node.Annotation("trainer-0"), "gpu-0 Healthy");
    at.node.Pass(251ms);
    EXPECT_THAT(at.node.Annotation("trainer-0"),
                AllOf(StartsWith("gpu-0 Unknown since "), HasSubstr("no report for 10 s")));
  }
}

TEST(KnownDefect, NobodyIsNotifiedThatTheStreamEnded) {
  for (const Role role : {Role::kObserver, Role::kManager}) {
    RunningPod at(role);
    at.driver.Kill();
    at.node.Pass(250ms);
    EXPECT_THAT(at.node.Annotation("trainer-0"),
                AllOf(StartsWith("gpu-0 Unknown since "), HasSubstr("is gone")));
    EXPECT_EQ(at.node.Condition("trainer-0"), "Unknown DriverGone");
  }
}

TEST(KnownDefect, ADriversRestartWhileTheAgentIsAwayLosesTheState) {
  RunningPod at(Role::kObserver);
  at.driver.Report({LostDevice("gpu-0")});
  at.node.Pass(2s);
  const std::string before = at.node.Annotation("trainer-0");
  at.node.KillAgent();
  at.driver.Kill();
  at.driver.Start();
  at.node.StartAgent();
  at.node.Pass(1s);
  EXPECT_EQ(at.node.Annotation("trainer-0"), before);
}

// Driver and agent go in one upgrade of the node, and the driver says no time of its own.
TEST(KnownDefect, AFaultIsNewForAnAgentThatStartsWhileItsDriverIsAway) {
  RunningPod at(Role::kObserver);
  at.driver.Report({LostDevice("gpu-0")});
  at.node.Pass(2s);
  const std::string before = at.node.Annotation("trainer-0");
  at.driver.Kill();
  at.node.Pass(60s);
  ASSERT_THAT(at.node.Annotation("trainer-0"), HasSubstr("Unknown"));
  for (int i = 0; i < 2; ++i) {
    at.node.KillAgent();
    at.node.StartAgent();
    at.node.Pass(60s);
  }
  at.driver.Start();
  at.node.Pass(2s);
  EXPECT_EQ(at.node.Annotation("trainer-0"), before);
}

TEST(KnownDefect, TheOldInstanceOfARollingUpdateOverwritesTheNewOnesReport) {
  RunningPod at(Role::kObserver);
  FakePlugin::Options second;
  second.socket = "/var/lib/kubelet/plugins_registry/gpu.example.com-2-reg.sock";
  second.endpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra-2.sock";
  at.node.AddDriver({"gpu-0"}, second);
  at.node.Pass(1s);
  at.driver.Report({LostDevice("gpu-0")});
  at.node.Pass(1s);
  EXPECT_EQ(at.node.Annotation("trainer-0"), "gpu-0 Healthy");
  at.driver.Stop();
  at.node.Pass(1s);
  EXPECT_EQ(at.node.Annotation("trainer-0"), "gpu-0 Healthy");
  EXPECT_THAT(at.node.Events("trainer-0"), IsEmpty());
}

TEST(KnownDefect, ChangesAreDroppedWhenTooManyPodsAreToBeWrittenAtOnce) {
  AgentNode node(Role::kObserver);
  std::vector<std::string> devices;
  std::vector<FakeReport> lost;
  for (int i = 0; i < 105; ++i) {
    devices.push_back("gpu-" + std::to_string(i));
    lost.push_back(LostDevice(devices.back()));
  }
  FakePlugin& driver = node.AddDriver(devices);
  for (const std::string& device : devices) node.AddPod("pod-" + device);
  node.StartAgent();
  node.Pass(5s);
  driver.Report(lost);
  node.Pass(5s);
  for (const std::string& device : devices) {
    EXPECT_EQ(node.Condition("pod-" + device), "False XidGpuLost") << device;
  }
}

TEST(KnownDefect, TheTimeOfTheSignIsReplacedByThatOfTheReport) {
  RunningPod at(Role::kObserver);
  FakeReport report = LostDevice("gpu-0");
  const WallTime sign = at.node.cluster.loop().WallNow() - 90s;
  report.sign_unix_nanos = sign.time_since_epoch().count();
  at.driver.Report({report});
  at.node.Pass(1s);
  EXPECT_THAT(at.node.Annotation("trainer-0"), HasSubstr("since " + FormatRfc3339(sign)));
}

TEST(KnownDefect, AHealthyDeviceIsTakenForSilentAfterARestart) {
  RunningPod at(Role::kObserver);
  for (int i = 0; i < 30; ++i) {
    at.driver.Report({{.device = "gpu-0"}});
    at.node.Pass(10s);
  }
  at.node.KillAgent();
  at.node.StartAgent();
  at.node.Pass(5s);
  EXPECT_EQ(at.node.Annotation("trainer-0"), "gpu-0 Healthy");
  EXPECT_THAT(at.node.Events("trainer-0"), IsEmpty());
}

TEST(KnownDefect, ExtendedResourcesHaveNoHealth) {
  RunningPod at(Role::kObserver);
  Json plain = api_sim::FakePod("plain-0");
  plain["spec"]["containers"].MutableItems()[0]["resources"]["limits"]["example.com/gpu"] = 1;
  at.node.CreatePod(plain);
  at.node.Pass(2s);
  const std::string claim =
      at.node.cluster.Pod("trainer-0")["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
          .AsString();
  // The claim that the scheduler made for this Pod's extended resource.
  Json mapping = Json::MakeObject(
      {{"containerName", "main"}, {"resourceName", "example.com/gpu"}, {"requestName", "gpu"}});
  const Json extended = Json::MakeObject(
      {{"resourceClaimName", claim}, {"requestMappings", Json::MakeArray({mapping})}});
  Json patch =
      Json::MakeObject({{"status", Json::MakeObject({{"extendedResourceClaimStatus", extended}})}});
  ASSERT_TRUE(at.node.cluster
                  .Do(kube::Patch(kube::kPods, "default", "plain-0", kube::PatchType::kMerge, patch,
                                  {.subresource = "status"}))
                  .ok());
  const Json pod = at.node.cluster.Pod("plain-0");
  at.node.Pass(1s);  // its claim is not yet reserved for it, and asked for again
  const Json consumer = Json::MakeObject(
      {{"resource", "pods"}, {"name", "plain-0"}, {"uid", pod["metadata"]["uid"]}});
  Json reserve = Json::MakeObject(
      {{"status", Json::MakeObject({{"reservedFor", Json::MakeArray({consumer})}})}});
  ASSERT_TRUE(at.node.cluster
                  .Do(kube::Patch(kube::kResourceClaims, "default", claim, kube::PatchType::kMerge,
                                  reserve, {.subresource = "status"}))
                  .ok());
  at.node.Pass(3s);
  at.driver.Report({LostDevice("gpu-0")});
  at.node.Pass(200ms);
  EXPECT_EQ(at.node.Condition("plain-0"), "False XidGpuLost");
}

TEST(KnownDefect, ADriverWithoutHealthFillsTheLog) {
  AgentNode node(Role::kObserver);
  FakePlugin::Options options;
  options.versions = {"v1.DRAPlugin"};
  FakePlugin& driver = node.AddDriver({"gpu-0"}, options);
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5min);
  EXPECT_EQ(driver.streams_opened(), 0);
  EXPECT_THAT(node.Annotation("trainer-0"), HasSubstr("reports no health"));
  EXPECT_EQ(node.Condition("trainer-0"), "Unknown NotReported");
  EXPECT_THAT(node.Events("trainer-0"), IsEmpty());
  EXPECT_LE(node.lines.size(), 5u)
      << "one of the start, of its lists, of the driver, of the device";
}

TEST(KnownDefect, TheOrderOfTheListIsAnotherEachTime) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0", "gpu-1", "gpu-2"});
  node.cluster.Create(kube::kResourceClaims, api_sim::FakeClaim("three", "gpu.example.com", 3));
  Json pod = api_sim::WithClaim(api_sim::FakePod("trainer-0"), "gpu", "three");
  pod["spec"]["containers"].MutableItems()[0]["resources"]["claims"].Append(
      Json::MakeObject({{"name", "gpu"}}));
  node.CreatePod(pod);
  node.StartAgent();
  node.Pass(5s);
  const std::string before = node.Allocated("trainer-0");
  EXPECT_EQ(before,
            "claim:gpu gpu.example.com/gpu=gpu-0 Healthy: \n"
            "claim:gpu gpu.example.com/gpu=gpu-1 Healthy: \n"
            "claim:gpu gpu.example.com/gpu=gpu-2 Healthy: ");
  const int writes = node.api.writes();
  driver.Report({{.device = "gpu-2"}, {.device = "gpu-0"}, {.device = "gpu-1"}});
  node.Pass(1s);
  EXPECT_EQ(node.Allocated("trainer-0"), before);
  EXPECT_LE(node.api.writes() - writes, 1) << "the lease at most";
}

TEST(KnownDefect, AClaimThatNoContainerReferencesHasNoHealth) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.CreatePod(api_sim::WithTemplate(api_sim::FakePod("trainer-0"), "gpu", "gpu.example.com"));
  node.StartAgent();
  node.Pass(2s);
  driver.Report({LostDevice("gpu-0")});
  node.Pass(200ms);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
}

TEST(KnownDefect, WhatIsLearntAfterThePodEndedIsLost) {
  RunningPod at(Role::kObserver);
  const WallTime sign = at.node.cluster.loop().WallNow();
  CrashContainer(at.node, "trainer-0", 139, true);
  // Time enough for the claim to be taken from it, as it is from every Pod that ended.
  at.node.Pass(5s);
  const Json pod = at.node.cluster.Pod("trainer-0");
  const std::string& claim =
      pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"].AsString();
  ASSERT_TRUE(at.node.cluster.Claim(claim)["status"]["allocation"].is_null());
  FakeReport late = LostDevice("gpu-0");
  late.sign_unix_nanos = sign.time_since_epoch().count();
  at.driver.Report({late});
  at.node.Pass(2s);
  EXPECT_EQ(at.node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(at.node.Events("trainer-0"), Contains("DeviceUnhealthy x1"));
  at.driver.Report({{.device = "gpu-0"}});
  at.node.Pass(2s);
  EXPECT_EQ(at.node.Condition("trainer-0"), "False XidGpuLost") << "that is how it ended";
}

TEST(KnownDefect, WhatHappensAfterThePodEndedIsItsStory) {
  RunningPod at(Role::kObserver);
  Succeed(at.node, "trainer-0");
  // Another Pod may hold the device by now.
  at.node.Pass(65s);
  at.driver.Report({LostDevice("gpu-0")});
  at.node.Pass(2s);
  EXPECT_EQ(at.node.Condition("trainer-0"), "True AllHealthy");
  EXPECT_EQ(at.node.Annotation("trainer-0"), "gpu-0 Healthy");
  EXPECT_THAT(at.node.Events("trainer-0"), IsEmpty());
}

TEST(KnownDefect, AForceDeletedPodBlocksTheNextOfItsName) {
  AgentNode node(Role::kManager);
  node.AddDriver({"gpu-0"});
  Json pod = api_sim::WithClaim(api_sim::FakePod("trainer-0"), "gpu", "mine");
  node.cluster.Create(kube::kResourceClaims, api_sim::FakeClaim("mine", "gpu.example.com"));
  node.CreatePod(pod);
  node.StartAgent();
  node.Pass(5s);
  ASSERT_EQ(node.cluster.Pod("trainer-0")["status"]["phase"].AsString(), "Running");
  // The driver cannot let go of the old claim for now; the Pod and its claim are forced away.
  node.drivers[0]->FailUnprepare("still busy");
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.cluster.Delete(kube::kResourceClaims, "mine", "default", 0);
  node.Pass(5s);
  node.cluster.Create(kube::kResourceClaims, api_sim::FakeClaim("mine", "gpu.example.com"));
  node.CreatePod(pod);
  node.Pass(10s);
  EXPECT_EQ(node.cluster.Pod("trainer-0")["status"]["phase"].AsString(), "Running")
      << node.cluster.WhyPending("trainer-0");
}

TEST(KnownDefect, TheSameReportAfterASilenceNotifiesNobody) {
  for (const Role role : {Role::kObserver, Role::kManager}) {
    RunningPod at(role);
    at.node.Pass(60s);
    ASSERT_THAT(at.node.Annotation("trainer-0"), StartsWith("gpu-0 Unknown"));
    at.driver.Report({{.device = "gpu-0"}});
    at.node.Pass(250ms);
    EXPECT_EQ(at.node.Annotation("trainer-0"), "gpu-0 Healthy");
    EXPECT_THAT(at.node.Events("trainer-0"), Contains("DeviceRecovered x1"));
  }
}

}  // namespace
}  // namespace galen::agent
