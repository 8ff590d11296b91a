// A device of a device plugin, with real processes: the kubelet, which this test plays, says by the
// Pod resources API who has it, and galen-driver beside the plugin looks at the hardware.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "net/endpoint/server.h"
#include "protos/podresources/v1/podresources.pb.h"
#include "rpc/typed.h"
#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kResource = "vendor.example/card";
constexpr const char* kAddress = "0000:4b:00.0";

class PluginDeviceStory : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const fs::path file = node_.Path(std::string("sys/bus/pci/devices/") + kAddress + "/" + path);
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  // As the kubelet's, which gave the trainer the card. Runs while the stage waits.
  void StartKubelet() {
    const std::string socket = node_.Path("kubelet/pod-resources/kubelet.sock");
    fs::create_directories(fs::path(socket).parent_path());
    rpc::AddUnary<::v1::ListPodResourcesRequest, ::v1::ListPodResourcesResponse>(
        kubelet_, "/v1.PodResourcesLister/List", [this](const auto&, const auto&, auto reply) {
          ++asked_;
          ::v1::ListPodResourcesResponse response;
          ::v1::PodResources& pod = *response.add_pod_resources();
          pod.set_name(kTrainer);
          pod.set_namespace_("default");
          ::v1::ContainerResources& container = *pod.add_containers();
          container.set_name("main");
          ::v1::ContainerDevices& devices = *container.add_devices();
          devices.set_resource_name(kResource);
          devices.add_device_ids(kAddress);
          if (gave_another_) devices.add_device_ids("0000:5c:00.0");
          reply(response);
        });
    server_ =
        net::Server::Start(node_.stage().loop(), NullLog(), {.address = "unix:" + socket}, kubelet_)
            .value();
  }
  // An agent beside that kubelet, with a Pod that asks for a card.
  void Up() {
    ASSERT_TRUE(node_.fleet().serves());
    node_.fleet().InstallDefinitions();
    Write("vendor", "0x10de\n");
    Write("device", "0x2330\n");
    Write("class", "0x030200\n");
    Write("current_link_width", "16\n");
    Write("max_link_width", "16\n");
    fs::create_directories(node_.Path("kubelet/plugins_registry"));
    node_.StartAgent({"--role", "observer"});
    node_.fleet().Create(
        kube::kPods, "default",
        "{metadata: {name: trainer-0}, spec: {nodeName: node-7, containers: [{name: "
        "main, image: pause, resources: {limits: {vendor.example/card: '1'}}}]}}");
    // As the kubelet, once it has admitted the Pod and given it its card.
    Json started;
    started["status"]["startTime"] = "2026-11-21T14:00:00Z";
    ASSERT_TRUE(node_.fleet()
                    .session()
                    .Fetch(kube::Patch(kube::kPods, "default", kTrainer, kube::PatchType::kMerge,
                                       started, {.subresource = "status"}))
                    .ok());
  }
  Program& StartSource() {
    return node_.stage().Start(
        "galen-driver",
        {"pci", "--health-only-for", kResource, "--health-sources", node_.Path("health"), "--node",
         "node-7", "--kubelet-root", node_.Path("kubelet"), "--sysfs-root", node_.Path("sys"),
         "--select", "10de:2330", "--poll", "200ms"});
  }

  FaultStage node_;
  rpc::Dispatcher kubelet_{node_.stage().loop()};
  std::unique_ptr<net::Server> server_;
  bool gave_another_ = false;  // one that is nowhere below /sys
  int asked_ = 0;
};

TEST_F(PluginDeviceStory, APodShowsTheHealthOfTheDeviceThatItsKubeletGaveIt) {
  StartKubelet();
  Up();
  StartSource();
  node_.ExpectSays(kTrainer, {"0000:4b:00.0 Healthy"});
  Write("current_link_width", "8\n");
  node_.ExpectSays(kTrainer, {"0000:4b:00.0 Degraded", "PCIe link at 8 of 16 lanes"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "True PcieWidthReduced") << "it works, at half its width";
  node_.ExpectWhy(kTrainer, {"0000:4b:00.0  Degraded", "resource vendor.example/card",
                             "Healthy → Degraded, PcieWidthReduced"});
  EXPECT_LE(asked_, 5) << "it is no poll";
  // What was known before the agent's restart is shown after it. That a claim's device beside it
  // takes nothing away meanwhile is tested in src/agent/app/plugin_devices_test.cc.
  const std::string before = node_.LineOf(kTrainer);
  node_.End(node_.agent(), SIGKILL);
  node_.StartAgent({"--role", "observer"});
  node_.ExpectWhy(kTrainer, {"Degraded"});
  EXPECT_EQ(node_.LineOf(kTrainer), before);
}

TEST_F(PluginDeviceStory, ADeviceThatNobodyLooksAtIsNotOnThePodAndWhyNamesItWithTheReason) {
  gave_another_ = true;
  StartKubelet();
  Up();
  node_.ExpectWhy(kTrainer, {"0000:4b:00.0", "0000:5c:00.0",
                             "no health source for vendor.example/card reports on this node"});
  EXPECT_EQ(node_.LineOf(kTrainer), "");
  StartSource();
  node_.ExpectSays(kTrainer, {"0000:4b:00.0 Healthy"});
  node_.ExpectWhy(kTrainer, {"holds 2 devices", "0000:4b:00.0  Healthy",
                             "no device of its health source has its UUID, PCI address or serial"});
  EXPECT_THAT(node_.LineOf(kTrainer), Not(HasSubstr("0000:5c:00.0")));
}

TEST_F(PluginDeviceStory, AKubeletThatIsNotThereIsSaidAndHurtsNoPod) {
  Up();
  StartSource();
  node_.ExpectDoctor({"agent.troubles", "Pod resources: dial unix:"});
  EXPECT_EQ(node_.LineOf(kTrainer), "");
  StartKubelet();
  // Asked again later and later, within a quarter of a minute at first.
  node_.ExpectSays(kTrainer, {"0000:4b:00.0 Healthy"});
}

}  // namespace
}  // namespace galen::e2e
