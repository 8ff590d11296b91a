#include "agent/app/agent_app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/app/fake_agent_node.h"
#include "api_sim/objects/fake_objects.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::string kCrdFile = GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml";

FakeReport Lost(const std::string& device) {
  return {.device = device,
          .health = 2,
          .message = "XID 79: GPU has fallen off the bus",
          .code = "XidGpuLost"};
}

TEST(Observer, ShowsOnThePodThatItsDeviceIsWell) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  EXPECT_FALSE(node.app->ready());
  node.Pass();
  EXPECT_EQ(node.Annotation("trainer-0"), "gpu-0 Healthy");
  EXPECT_EQ(node.Condition("trainer-0"), "True AllHealthy");
  EXPECT_TRUE(node.app->ready());
  EXPECT_EQ(node.Allocated("trainer-0"), "") << "that list is the kubelet's";
}

TEST(Observer, ShowsAFaultOnThePodWithItsSentenceAndAnEvent) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(HeldChanges::kAnnotationCalm);
  driver.Report({Lost("gpu-0")});
  node.Pass(100ms);
  EXPECT_THAT(node.Annotation("trainer-0"), StartsWith("gpu-0 Unhealthy since "));
  EXPECT_THAT(node.Annotation("trainer-0"), HasSubstr(": XID 79: GPU has fallen off the bus"));
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node.Events("trainer-0"), UnorderedElementsAre("DeviceUnhealthy x1"));
  driver.Report({{.device = "gpu-0"}});
  node.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node.Annotation("trainer-0"), "gpu-0 Healthy");
  EXPECT_THAT(node.Events("trainer-0"),
              UnorderedElementsAre("DeviceUnhealthy x1", "DeviceRecovered x1"));
}

// The first thing that the owner of a new Pod wants to know.
TEST(Observer, APodThatGetsABadDeviceIsWarnedAtOnceAndOnceOverRestarts) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.StartAgent();
  node.Pass(2s);
  driver.Report({Lost("gpu-0")});
  node.Pass(10s);
  node.AddPod("trainer-0");
  node.Pass(2s);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node.Events("trainer-0"), UnorderedElementsAre("DeviceUnhealthy x1"));
  EXPECT_EQ(node.metrics->Value("galen_publish_seconds", {}), 0)
      << "it waited for its Pod, not for us";
  node.KillAgent();
  node.Pass(10s);
  node.StartAgent();
  node.Pass(10s);
  EXPECT_THAT(node.Events("trainer-0"), UnorderedElementsAre("DeviceUnhealthy x1"));
}

TEST(Observer, APodThatGotABadDeviceWhileTheAgentWasAwayIsWarnedToo) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.StartAgent();
  node.Pass(2s);
  driver.Report({Lost("gpu-0")});
  node.Pass(5s);
  node.KillAgent();
  node.AddPod("trainer-0");
  node.Pass(10s);
  node.StartAgent();
  node.Pass(5s);
  EXPECT_THAT(node.Events("trainer-0"), UnorderedElementsAre("DeviceUnhealthy x1"));
}

TEST(Observer, WritesOnlyToThePodThatHoldsTheDevice) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0", "gpu-1"});
  node.AddPod("trainer-0");
  node.AddPod("trainer-1");
  node.StartAgent();
  node.Pass();
  const std::string mine = node.DeviceOf("trainer-0");
  const std::string other = mine == "gpu-0" ? "gpu-1" : "gpu-0";
  driver.Report({Lost(mine), {.device = other}});
  node.Pass(100ms);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_EQ(node.Condition("trainer-1"), "True AllHealthy");
}

TEST(Observer, WritesNothingWhileNothingChanges) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.DefineNodeDeviceHealth(kCrdFile);
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  const int api_writes = node.api.writes();
  const std::uint64_t disk_writes = node.files.writes();
  for (int i = 0; i < 60; ++i) {
    driver.Report({{.device = "gpu-0"}});
    node.Pass(10s);
  }
  EXPECT_EQ(node.api.writes(), api_writes);
  EXPECT_EQ(node.files.writes(), disk_writes);
}

TEST(Observer, CarriesOnAfterAKillWithTheSameStatesAndTheirFirstTimes) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass();
  driver.Report({Lost("gpu-0")});
  node.Pass(HeldChanges::kAnnotationCalm);
  const std::string before = node.Annotation("trainer-0");
  const auto events = node.Events("trainer-0");
  node.KillAgent();
  node.Pass(10s);
  node.StartAgent();
  node.Pass(1s);
  EXPECT_EQ(node.Annotation("trainer-0"), before);
  EXPECT_EQ(node.Events("trainer-0"), events) << "nothing is published twice";
  driver.Report({{.device = "gpu-0"}});
  node.Pass(100ms);
  EXPECT_EQ(node.Annotation("trainer-0"), "gpu-0 Healthy");
}

TEST(Observer, PublishesAfterARestartWhatHappenedMeanwhile) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(2s);
  node.KillAgent();
  driver.Report({Lost("gpu-0")});
  node.Pass(10s);
  node.StartAgent();
  node.Pass(1s);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node.Events("trainer-0"), Contains("DeviceUnhealthy x1"));
}

TEST(Observer, KeepsStatesWhileTheApiIsAwayAndPublishesThemWithoutAStorm) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass();
  node.api.SetDown(true);
  const int requests = node.api.requests();
  for (int i = 0; i < 60; ++i) {
    driver.Report({i % 2 == 0 ? Lost("gpu-0") : FakeReport{.device = "gpu-0"}});
    node.Pass(1s);
  }
  FakeReport last = Lost("gpu-0");
  last.timeout_seconds = 120;
  driver.Report({last});
  EXPECT_LE(node.api.requests() - requests, 100);
  node.api.SetDown(false);
  node.Pass(6s);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
}

TEST(Observer, KeepsServingWithAFullDiskAndSaysSo) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(5s);
  node.files.FailWrites(ResourceExhausted("no space left on device"));
  driver.Report({Lost("gpu-0")});
  node.Pass(100ms);
  EXPECT_EQ(node.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_TRUE(node.app->ready());
  EXPECT_THAT(node.app->troubles(), Contains(HasSubstr("no space left on device")));
  node.files.FailWrites(std::nullopt);
  node.Pass(1min);
  EXPECT_THAT(node.app->troubles(), ::testing::Not(Contains(HasSubstr("journal"))));
}

TEST(Observer, PublishesTenThousandChangesByTheirLastState) {
  AgentNode node(Role::kObserver);
  std::vector<std::string> devices;
  for (int i = 0; i < 8; ++i) devices.push_back("gpu-" + std::to_string(i));
  FakePlugin& driver = node.AddDriver(devices);
  for (const std::string& device : devices) node.AddPod("pod-" + device);
  node.StartAgent();
  node.Pass(2s);
  for (int round = 0; round < 1250; ++round) {
    std::vector<FakeReport> reports;
    for (const std::string& device : devices) {
      reports.push_back({.device = device, .health = round % 2 == 0 ? 2 : 1});
    }
    driver.Report(reports);
    if (round % 10 == 0) node.Pass(1ms);
  }
  node.Pass(2s);
  for (const std::string& device : devices) {
    EXPECT_EQ(node.Condition("pod-" + device), "True AllHealthy");
  }
  EXPECT_GE(node.metrics->Value("galen_device_state_changes_total",
                                {{"driver", "gpu.example.com"}, {"state", "Unhealthy"}}),
            5000);
}

TEST(Observer, NotesAContainersCrashForThePostMortem) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(2s);
  const Json patch = api_sim::Yaml(R"({status: {containerStatuses: [{name: main, image: pause,
      imageID: "", ready: false, restartCount: 1,
      state: {running: {startedAt: "2026-11-21T14:00:09Z"}},
      lastState: {terminated: {exitCode: 134, reason: Error,
                               finishedAt: "2026-11-21T14:00:08Z"}}}]}})");
  ASSERT_TRUE(node.cluster
                  .Do(kube::Patch(kube::kPods, "default", "trainer-0", kube::PatchType::kStrategic,
                                  patch, {.subresource = "status"}))
                  .ok());
  node.Pass(2s);
  std::string journal;
  const std::vector<std::string> names = node.files.List("/var/lib/galen/journal").value();
  for (const std::string& name : names) {
    journal += node.files.Read("/var/lib/galen/journal/" + name).value();
  }
  EXPECT_THAT(journal, HasSubstr("container main, exit 134"));
}

TEST(Observer, TakesTheKubeletsStatusForADriverThatItMustNotAsk) {
  AgentNode node(Role::kObserver);
  node.config.unsubscribed = {"gpu.example.com"};
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(3s);
  EXPECT_THAT(node.Annotation("trainer-0"), HasSubstr("and the kubelet does not say"));
  const Json patch = api_sim::Yaml(R"({status: {containerStatuses: [{name: main, image: pause,
      imageID: "", ready: true, restartCount: 0, allocatedResourcesStatus: [{name: "claim:gpu",
      resources: [{resourceID: "x/y=1-gpu-0", health: Unhealthy, message: "ECC"}]}]}]}})");
  ASSERT_TRUE(node.cluster
                  .Do(kube::Patch(kube::kPods, "default", "trainer-0", kube::PatchType::kStrategic,
                                  patch, {.subresource = "status"}))
                  .ok());
  node.Pass(100ms);
  EXPECT_THAT(node.Annotation("trainer-0"), StartsWith("gpu-0 Unhealthy since "));
  EXPECT_EQ(node.Condition("trainer-0"), "False Reported");
  // That the driver connects says nothing against the kubelet's status.
  node.KillAgent();
  node.StartAgent();
  node.Pass(2s);
  EXPECT_THAT(node.Events("trainer-0"), UnorderedElementsAre("DeviceUnhealthy x1"));
  node.Pass(1h);
  EXPECT_EQ(node.Condition("trainer-0"), "False Reported") << "the kubelet keeps the deadlines";
  driver.Kill();
  node.Pass(100ms);
  EXPECT_EQ(node.Condition("trainer-0"), "Unknown DriverGone");
  EXPECT_EQ(driver.streams_opened(), 0);
}

TEST(Observer, ReadsOnlyTheClaimsThatItsPodsName) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.cluster.Create(kube::kResourceClaims, api_sim::FakeClaim("foreign", "gpu.example.com"));
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(10s);
  ASSERT_EQ(node.Annotation("trainer-0"), "gpu-0 Healthy");
  int reads = 0;
  for (const std::string& path : node.api.paths()) {
    if (path.find("/resourceclaims") == std::string::npos) continue;
    EXPECT_THAT(path, HasSubstr("/namespaces/default/resourceclaims/trainer-0-gpu"));
    ++reads;
  }
  EXPECT_GE(reads, 1);
  EXPECT_LE(reads, 3);
}

TEST(Observer, TheSameTroubleIsLoggedAgainWhenItComesAgain) {
  AgentNode node(Role::kObserver);
  node.DefineNodeDeviceHealth(kCrdFile);
  node.StartAgent();
  node.Pass(2s);
  const auto logged = [&] {
    return std::count_if(node.lines.begin(), node.lines.end(), [](const std::string& line) {
      return line.find("watch failed, trying again") != std::string::npos;
    });
  };
  node.api.SetDown(true);
  node.Pass(10s);
  EXPECT_EQ(logged(), 2) << "of Pods and of slices";
  EXPECT_THAT(node.app->troubles(), Contains(HasSubstr("watch pods")));
  node.api.SetDown(false);
  node.Pass(1min);
  EXPECT_THAT(node.app->troubles(), IsEmpty()) << "although no object changed";
  node.api.SetDown(true);
  node.Pass(10s);
  EXPECT_EQ(logged(), 4);
}

TEST(Observer, ARegistryThatCannotBeReadIsATrouble) {
  AgentNode node(Role::kObserver);
  node.registry.FailScans(PermissionDenied("open /var/lib/kubelet/plugins_registry"));
  node.StartAgent();
  node.Pass(2s);
  EXPECT_THAT(node.app->troubles(), Contains(HasSubstr("registry: open /var/lib/kubelet")));
  EXPECT_FALSE(node.app->ready());
}

TEST(Observer, ReportAgesRunOnWhileADriverIsAwayAndEndWithIt) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.StartAgent();
  node.Pass(2s);
  driver.Kill();
  node.Pass(2min);
  (void)node.metrics->Text();
  EXPECT_GE(node.metrics->Value("galen_report_age_seconds", {{"driver", "gpu.example.com"}}), 120);
  node.registry.Remove("/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock");
  node.Pass(1s);
  EXPECT_THAT(node.metrics->Text(), ::testing::Not(HasSubstr("galen_report_age_seconds{")));
}

TEST(Observer, StopsProperly) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass();
  bool stopped = false;
  node.app->Stop(5s, [&] { stopped = true; });
  node.Pass(100ms);
  EXPECT_TRUE(stopped);
}

TEST(Observer, WritesTheEventsThatItGathersBeforeItStops) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass();
  driver.Report({Lost("gpu-0")});
  node.Pass(100ms);
  driver.Report({{.device = "gpu-0"}});
  node.Pass(100ms);
  driver.Report({Lost("gpu-0")});
  node.Pass(100ms);
  EXPECT_THAT(node.Events("trainer-0"), Contains("DeviceUnhealthy x1"));
  node.app->Stop(5s, [] {});
  node.Pass(100ms);
  EXPECT_THAT(node.Events("trainer-0"), Contains("DeviceUnhealthy x2"));
}

TEST(Observer, StopsAtItsDeadlineWhenTheApiIsAway) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass();
  node.api.SetDown(true);
  driver.Report({Lost("gpu-0")});
  node.Pass(10ms);
  bool stopped = false;
  node.app->Stop(1s, [&] { stopped = true; });
  node.Pass(900ms);
  EXPECT_FALSE(stopped) << "a write is still to be made";
  node.Pass(200ms);
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace galen::agent
