// Beside a vendor's driver that has no health: galen-driver looks at the same hardware, and Pods
// that hold the vendor's devices say how these are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/fault_stage.h"
#include "tests/e2e/scripted_driver.h"

namespace galen::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr const char* kVendor = "gpu.vendor.example";

class HealthSourceStory : public ::testing::Test {
 protected:
  // A file below the tree that is like /sys, whole at each moment.
  void Write(const std::string& path, const std::string& text) {
    const fs::path file = node_.Path("sys/bus/pci/devices/0000:4b:00.0/" + path);
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  // The vendor's driver with its slice, an agent, and a Pod on the vendor's device.
  void Up() {
    ASSERT_TRUE(node_.fleet().serves());
    node_.fleet().InstallDefinitions();
    Write("vendor", "0x10de\n");
    Write("device", "0x2330\n");
    Write("class", "0x030200\n");
    Write("current_link_width", "16\n");
    Write("max_link_width", "16\n");
    vendor_.emplace(node_.stage(), kVendor, /*with_health=*/false);
    node_.StartAgent();
    node_.fleet().Create(
        kube::kResourceSlices, "",
        "{metadata: {name: vendor}, spec: {driver: gpu.vendor.example, nodeName: node-7, pool: "
        "{name: node-7, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0, attributes: "
        "{pcieBusID: {string: '0000:4b:00.0'}, uuid: {string: GPU-5f3c}}}]}}");
    node_.MakePod(kTrainer, kVendor);
    node_.ExpectSays(kTrainer, {"gpu-0 Unknown", "reports no health"});
  }
  Program& StartSource() {
    return node_.stage().Start(
        "galen-driver",
        {"pci", "--health-only-for", kVendor, "--health-sources", node_.Path("health"), "--node",
         "node-7", "--kubelet-root", node_.Path("kubelet"), "--kubeconfig", "/nowhere",
         "--sysfs-root", node_.Path("sys"), "--select", "10de:2330", "--poll", "200ms"});
  }
  std::vector<std::string> NamesIn(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(node_.Path(directory))) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  FaultStage node_;
  std::optional<ScriptedDriver> vendor_;
};

TEST_F(HealthSourceStory, APodOnAVendorsDeviceShowsWhatGalensProbesSee) {
  Up();
  Program& source = StartSource();
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  Write("current_link_width", "8\n");
  node_.ExpectSays(kTrainer,
                   {"gpu-0 Degraded", "PCIe link at 8 of 16 lanes", "(seen by Galen's probes)"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "True PcieWidthReduced") << "it works, at half its width";
  node_.ExpectWhy(kTrainer, {"gpu-0   Degraded", "driver gpu.vendor.example,",
                             "Healthy → Degraded, PcieWidthReduced", "current_link_width"});
  EXPECT_THAT(NamesIn("kubelet/plugins_registry"),
              UnorderedElementsAre("gpu.vendor.example-reg.sock"));
  EXPECT_THAT(NamesIn("kubelet/plugins/gpu.vendor.example"), UnorderedElementsAre("dra.sock"));
  source.Signal(SIGTERM);
  ASSERT_TRUE(node_.stage().Until([&] { return !source.running(); }));
  EXPECT_EQ(source.exit_code(), 0) << source.Log();
}

TEST_F(HealthSourceStory, ASourceThatIsKilledLeavesItsDevicesUnknownUntilTheNextOne) {
  Up();
  Program& source = StartSource();
  Write("current_link_width", "8\n");
  node_.ExpectSays(kTrainer, {"gpu-0 Degraded"});
  node_.End(source, SIGKILL);
  node_.ExpectSays(kTrainer, {"gpu-0 Unknown", "health source for gpu.vendor.example is gone"});
  StartSource();
  node_.ExpectSays(kTrainer, {"gpu-0 Degraded", "PCIe link at 8 of 16 lanes"});
}

TEST_F(HealthSourceStory, ARefusedCommandLineSaysWhyAndStartsNothing) {
  const Outcome outcome = node_.stage().Run({BuiltProgram("galen-driver"), "pci", "--select",
                                             "10de", "--node", "node-7", "--health-only-for",
                                             kVendor, "--taint-unhealthy", "NoSchedule"});
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_THAT(
      outcome.error,
      HasSubstr("--taint-unhealthy: leave it out, since only the driver of --health-only-for"));
}

}  // namespace
}  // namespace galen::e2e
