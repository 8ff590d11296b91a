// Devices of device plugins: the kubelet says which Pod has which, a health source how they are;
// what the whole agent makes of both, beside devices of a DRA driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "agent/app/fake_agent_node.h"
#include "agent/app/fake_endings.h"
#include "agent/holdings/fake_pod_resources.h"
#include "api_sim/objects/fake_objects.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kResource = "nvidia.com/gpu";
constexpr const char* kGpu = "GPU-5f3c1c8e-0000-4000-8000-000000000001";

class PluginDevicesTest : public ::testing::Test {
 protected:
  PluginDevicesTest() : node_(Role::kObserver), kubelet_(node_.cluster.loop(), node_.network) {
    kubelet_.Start();
  }

  // A Pod that asks for a GPU of the plugin, and for one by a claim of `device_class` if any.
  void AddPod(const std::string& name, const std::string& device_class = "") {
    Json pod = api_sim::FakePod(name);
    if (!device_class.empty()) pod = api_sim::WithTemplate(std::move(pod), "gpu", device_class);
    Json& container = pod["spec"]["containers"].MutableItems()[0];
    container["resources"]["limits"] = Json::MakeObject({{kResource, "1"}});
    if (!device_class.empty()) {
      container["resources"]["claims"].Append(Json::MakeObject({{"name", "gpu"}}));
    }
    node_.CreatePod(pod);
  }
  static FakeReport Gpu(int health, const std::string& uuid = kGpu) {
    return {.device = "gpu-0",
            .health = health,
            .message = health == 2 ? "XID 79: GPU has fallen off the bus" : "",
            .code = health == 2 ? "XidGpuLost" : "",
            .uuid = uuid,
            .pci_address = "0000:4b:00.0"};
  }
  FakePlugin& AddSource() {
    source_ = std::make_unique<FakePlugin>(
        node_.cluster.loop(), node_.network, node_.sources,
        FakePlugin::Options{.driver = kResource,
                            .pool = "health-source",
                            .socket = "/run/galen/health/nvidia.sock",
                            .endpoint = "/run/galen/health/nvidia-data.sock",
                            .type = "galen.dev/HealthSource",
                            .versions = {"v1.DRAResourceHealth"}});
    source_->Report({Gpu(1)});
    source_->Start();
    return *source_;
  }

  // The Pod shows a GPU of the plugin that is broken, and one of a driver that is well.
  void ShowABrokenGpuBesideAClaims() {
    driver_ = &node_.AddDriver({"gpu-0"});
    AddPod("trainer-0", "gpu.example.com");
    kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
    AddSource().Report({Gpu(2)});
    node_.StartAgent();
    node_.Pass(HeldChanges::kAnnotationCalm + 5s);
    before_ = node_.Annotation("trainer-0");
    EXPECT_THAT(before_, HasSubstr("XID 79"));
  }
  // As both do every now and then.
  void ReportAgain() {
    driver_->Report({{.device = "gpu-0"}});
    source_->Report({Gpu(2)});
  }

  // What `galen why` gets.
  inspect::v1::ExplainResponse Explain(const std::string& pod) {
    node_.network.Listen("unix:/agent.sock", node_.app->inspect());
    std::unique_ptr<net::Connection> connection;
    const auto dialling = node_.dialer->Dial(
        {.target = "unix:/agent.sock"}, [&](StatusOr<std::unique_ptr<net::Connection>> dialled) {
          connection = std::move(dialled).value();
        });
    node_.Pass(10ms);
    rpc::Channel channel(node_.cluster.loop(), *connection);
    inspect::v1::ExplainRequest request;
    request.set_namespace_("default");
    request.set_pod(pod);
    inspect::v1::ExplainResponse answer;
    const auto call = rpc::Unary<inspect::v1::ExplainResponse>(
        channel, "/galen.inspect.v1.Inspect/Explain", request, 1s,
        [&](StatusOr<inspect::v1::ExplainResponse> reply) { answer = std::move(reply).value(); });
    node_.Pass(10ms);
    node_.network.StopListening("unix:/agent.sock");
    return answer;
  }

  AgentNode node_;
  FakePodResources kubelet_;
  std::unique_ptr<FakePlugin> source_;
  FakePlugin* driver_ = nullptr;
  std::string before_;  // what the Pod showed
};

TEST_F(PluginDevicesTest, APodShowsTheHealthOfADeviceThatThePluginGaveIt) {
  AddPod("trainer-0");
  kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
  FakePlugin& source = AddSource();
  node_.StartAgent();
  node_.Pass(5s);
  EXPECT_EQ(node_.Annotation("trainer-0"), std::string(kGpu) + " Healthy");
  source.Report({Gpu(2)});
  node_.Pass(1s);
  EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith(std::string(kGpu) + " Unhealthy since "));
  EXPECT_THAT(node_.Annotation("trainer-0"), HasSubstr("XID 79: GPU has fallen off the bus"));
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node_.Events("trainer-0"), Contains("DeviceUnhealthy x1"));
  node_.Pass(20s);
  source.Report({Gpu(1)});
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_EQ(node_.Annotation("trainer-0"), std::string(kGpu) + " Healthy");
}

TEST_F(PluginDevicesTest, APodWithAClaimAndAPluginsDeviceShowsBoth) {
  node_.AddDriver({"gpu-0"});
  AddPod("trainer-0", "gpu.example.com");
  kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
  AddSource().Report({Gpu(2)});
  node_.StartAgent();
  node_.Pass(5s);
  EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith(std::string(kGpu) + " Unhealthy since "));
  EXPECT_THAT(node_.Annotation("trainer-0"), HasSubstr("; gpu-0 Healthy"));
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
}

TEST_F(PluginDevicesTest, ADeviceThatNoSourceLooksAtIsShownOnNoPod) {
  AddPod("trainer-0");
  kubelet_.Say({{"trainer-0", kResource, {"GPU-00000000-0000-4000-8000-000000000009"}}});
  AddSource();
  node_.StartAgent();
  node_.Pass(1min);
  EXPECT_EQ(node_.Annotation("trainer-0"), "");
  EXPECT_EQ(node_.Condition("trainer-0"), "");
}

TEST_F(PluginDevicesTest, ASourceThatComesLateIsShownOnPodsThatRunAlready) {
  AddPod("trainer-0");
  kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
  node_.StartAgent();
  node_.Pass(1min);
  EXPECT_EQ(node_.Annotation("trainer-0"), "");
  AddSource().Report({Gpu(2)});
  node_.Pass(5s);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node_.Events("trainer-0"), Contains("DeviceUnhealthy x1"));
}

TEST_F(PluginDevicesTest, ATimeSliceHasTheHealthOfItsGpu) {
  AddPod("trainer-0");
  AddPod("trainer-1");
  const std::string gpu = kGpu;
  kubelet_.Say({{"trainer-0", kResource, {gpu + "::0"}}, {"trainer-1", kResource, {gpu + "::3"}}});
  AddSource().Report({Gpu(2)});
  node_.StartAgent();
  node_.Pass(5s);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_EQ(node_.Condition("trainer-1"), "False XidGpuLost");
}

// Its GPU is another Pod's by then.
TEST_F(PluginDevicesTest, WhyOfAPodThatHasEndedSaysNothingOfWhatItsGpuDidLater) {
  node_.AddDriver({"gpu-0"});
  FakePlugin& source = AddSource();
  node_.StartAgent();
  const std::map<std::string, std::string> classes = {{"claimer", "gpu.example.com"},
                                                      {"trainer", ""}};
  for (const auto& [pod, device_class] : classes) {
    const std::string next = pod + "-2";
    AddPod(pod, device_class);
    kubelet_.Say({{pod, kResource, {kGpu}}});
    source.Report({Gpu(1)});
    node_.Pass(15s);
    source.Report({Gpu(1)});
    ASSERT_THAT(node_.Annotation(pod), HasSubstr(std::string(kGpu) + " Healthy"));
    const std::int64_t ended = node_.cluster.loop().WallNow().time_since_epoch().count();
    CrashContainer(node_, pod, 1, true);
    node_.Pass(15s);
    AddPod(next);
    kubelet_.Say({{next, kResource, {kGpu}}});
    node_.Pass(5s);
    source.Report({Gpu(2)});
    node_.Pass(5s);
    EXPECT_THAT(Explain(next).SerializeAsString(), HasSubstr("XID 79"));
    const inspect::v1::ExplainResponse answer = Explain(pod);
    EXPECT_EQ(answer.phase(), "Failed");
    bool shown = false;
    for (const inspect::v1::Device& device : answer.devices()) {
      if (device.device() != kGpu) continue;
      shown = true;
      EXPECT_EQ(device.state(), "Healthy") << "of " << pod << ", as it was at the end";
    }
    EXPECT_TRUE(shown) << pod;
    for (const inspect::v1::Step& step : answer.steps()) {
      const bool of_gpu = step.device().find(kGpu) != std::string::npos;
      EXPECT_FALSE(of_gpu && step.unix_nanos() > ended) << pod << ": " << step.text();
    }
    node_.cluster.Delete(kube::kPods, next, "default", 0);
  }
}

TEST_F(PluginDevicesTest, ARestartOfTheAgentTakesNothingFromThePod) {
  ShowABrokenGpuBesideAClaims();
  node_.KillAgent();
  // As a kubelet that is busy.
  kubelet_.Hang(true);
  node_.StartAgent();
  for (int tenth = 0; tenth < 30; ++tenth) {
    node_.Pass(100ms);
    ASSERT_EQ(node_.Annotation("trainer-0"), before_) << "after " << tenth << " tenths";
  }
  kubelet_.Hang(false);
  kubelet_.AnswerHanging();
  for (int second = 0; second < 30; ++second) {
    if (second % 15 == 0) ReportAgain();
    node_.Pass(1s);
    ASSERT_EQ(node_.Annotation("trainer-0"), before_) << "after " << second << " s";
  }
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
}

TEST_F(PluginDevicesTest, AKubeletThatStartsTogetherWithTheAgentTakesNothingFromThePod) {
  ShowABrokenGpuBesideAClaims();
  node_.KillAgent();
  kubelet_.Stop();
  node_.StartAgent();
  for (int second = 0; second < 60; ++second) {
    // At first it knows of no Pod.
    if (second == 12) kubelet_.Say({});
    if (second == 12) kubelet_.Start();
    if (second == 20) kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
    if (second % 15 == 0) ReportAgain();
    node_.Pass(1s);
    ASSERT_EQ(node_.Annotation("trainer-0"), before_) << "after " << second << " s";
  }
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
}

TEST_F(PluginDevicesTest, AKubeletThatStaysAwayTakesNothingFromThePodNorDoesAStopMeanwhile) {
  ShowABrokenGpuBesideAClaims();
  node_.KillAgent();
  kubelet_.Stop();
  node_.StartAgent();
  for (int second = 0; second < 300; ++second) {
    if (second % 15 == 0) ReportAgain();
    node_.Pass(1s);
    ASSERT_EQ(node_.Annotation("trainer-0"), before_) << "after " << second << " s";
  }
  bool stopped = false;
  node_.app->Stop(5s, [&] { stopped = true; });
  node_.Pass(1s);
  EXPECT_TRUE(stopped) << "it waits for no kubelet";
  EXPECT_EQ(node_.Annotation("trainer-0"), before_);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
}

TEST_F(PluginDevicesTest, ANewFaultOfAClaimsDeviceIsShownWhileTheKubeletIsSilent) {
  ShowABrokenGpuBesideAClaims();
  source_->Report({Gpu(1)});
  node_.Pass(HeldChanges::kAnnotationCalm + 5s);
  const std::string gpu_is_well = std::string("; ") + kGpu + " Healthy";
  for (const bool hangs : {true, false}) {
    SCOPED_TRACE(hangs ? "it hangs" : "it is away");
    node_.KillAgent();
    hangs ? kubelet_.Hang(true) : kubelet_.Stop();
    node_.StartAgent();
    node_.Pass(15s);
    driver_->Report(
        {{.device = "gpu-0", .health = 2, .message = "it broke; x Healthy", .code = "Broken"}});
    node_.Pass(2s);
    EXPECT_EQ(node_.Condition("trainer-0"), "False Broken");
    EXPECT_THAT(node_.Annotation("trainer-0"), StartsWith("gpu-0 Unhealthy since "));
    EXPECT_THAT(node_.Annotation("trainer-0"), HasSubstr(": it broke, x Healthy" + gpu_is_well));
    node_.Pass(15s);
    driver_->Report({{.device = "gpu-0"}});
    node_.Pass(HeldChanges::kAnnotationCalm + 1s);
    EXPECT_EQ(node_.Condition("trainer-0"), "True AllHealthy");
    EXPECT_EQ(node_.Annotation("trainer-0"), "gpu-0 Healthy" + gpu_is_well);
  }
}

TEST_F(PluginDevicesTest, WhatAPodShowsOfThePluginStaysWhenItEndsWhileTheKubeletIsSilent) {
  ShowABrokenGpuBesideAClaims();
  node_.KillAgent();
  kubelet_.Stop();
  node_.StartAgent();
  node_.Pass(5s);
  CrashContainer(node_, "trainer-0", 1, true);
  node_.Pass(PodResourcesJoin::kPatience + 5s);
  EXPECT_EQ(node_.Annotation("trainer-0"), before_);
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  node_.KillAgent();
  kubelet_.Start();
  node_.StartAgent();
  node_.Pass(PodResourcesJoin::kPatience + 5s);
  EXPECT_EQ(node_.Annotation("trainer-0"), before_) << "a kubelet says no more of it";
}

TEST_F(PluginDevicesTest, APodThatShowsItsClaimsOnlyShowsTheirFaultsWithoutAKubelet) {
  kubelet_.Stop();
  FakePlugin& driver = node_.AddDriver({"gpu-0"});
  AddPod("trainer-0", "gpu.example.com");
  node_.StartAgent();
  node_.Pass(10s);
  EXPECT_EQ(node_.Annotation("trainer-0"), "gpu-0 Healthy");
  node_.KillAgent();
  node_.StartAgent();
  node_.Pass(5s);
  driver.Report({{.device = "gpu-0", .health = 2, .message = "broken"}});
  node_.Pass(HeldChanges::kAnnotationCalm + 5s);
  EXPECT_THAT(node_.Annotation("trainer-0"), HasSubstr("broken"));
}

TEST_F(PluginDevicesTest, AClaimsDeviceThatOnlyTheKubeletNamesIsSaidOnceAndCountedWhileItsPodIs) {
  FakePlugin& driver = node_.AddDriver({"gpu-0"});
  node_.AddPod("trainer-0");
  kubelet_.Say({{"trainer-0", "gpu.example.com", {"gpu-7"}, "another-claim"}});
  node_.StartAgent();
  node_.Pass(10s);
  const std::string_view count = "galen_pod_resources_differences";
  EXPECT_EQ(node_.metrics->Value(count), 1);
  const auto logged = [this] { return node_.Logged("kubelet and API name different devices"); };
  EXPECT_EQ(logged(), 1);
  // What is written on the Pod is no reason to forget it.
  driver.Report({{.device = "gpu-0", .health = 2, .message = "broken"}});
  node_.Pass(11min);
  EXPECT_EQ(node_.metrics->Value(count), 1);
  EXPECT_EQ(logged(), 1);
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node_.Pass(1s);
  EXPECT_EQ(node_.metrics->Value(count), 0);
}

TEST_F(PluginDevicesTest, WhyOfAPodOfWhichTheKubeletHasSaidNothingDoesNotCallItEmpty) {
  kubelet_.Stop();
  AddPod("trainer-0");
  FakePlugin& source = AddSource();
  node_.StartAgent();
  node_.Pass(5s);
  const inspect::v1::ExplainResponse before = Explain("trainer-0");
  EXPECT_EQ(before.devices_size(), 0);
  EXPECT_TRUE(before.devices_awaited());
  ASSERT_GT(before.notes_size(), 0);
  EXPECT_THAT(before.notes(0), HasSubstr("The kubelet has not said yet which devices"));
  kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
  kubelet_.Start();
  for (int report = 0; report < 20; ++report) {
    source.Report({Gpu(1)});
    node_.Pass(15s);
  }
  const inspect::v1::ExplainResponse after = Explain("trainer-0");
  EXPECT_EQ(after.devices_size(), 1);
  EXPECT_FALSE(after.devices_awaited());
}

TEST_F(PluginDevicesTest, WithoutAKubeletOnlyTheClaimsDevicesAreShown) {
  kubelet_.Stop();
  node_.DefineNodeDeviceHealth(GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml");
  FakePlugin& driver = node_.AddDriver({"gpu-0"});
  AddPod("trainer-0", "gpu.example.com");
  FakePlugin& source = AddSource();
  node_.StartAgent();
  node_.Pass(20s);
  EXPECT_EQ(node_.Annotation("trainer-0"), "gpu-0 Healthy");
  EXPECT_EQ(node_.Logged("kubelet does not say which devices its Pods have"), 1);
  EXPECT_THAT(node_.app->troubles(), Contains(StartsWith("Pod resources: dial unix:")));
  kubelet_.Say({{"trainer-0", kResource, {kGpu}}});
  kubelet_.Start();
  // Drivers repeat what they report; the kubelet is asked again within five minutes.
  for (int report = 0; report < 20; ++report) {
    driver.Report({{.device = "gpu-0"}});
    source.Report({Gpu(2)});
    node_.Pass(15s);
  }
  EXPECT_EQ(node_.Condition("trainer-0"), "False XidGpuLost");
  EXPECT_THAT(node_.app->troubles(), testing::IsEmpty());
}

}  // namespace
}  // namespace galen::agent
