// NVIDIA GPUs from NVML to the Pod, with real processes: the library is one of ours that answers
// from a table, under NVIDIA's name.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNvidia = "nvidia.example.com";

class Nvidia : public ::testing::Test {
 protected:
  // What GPU `index` shows that is well.
  static std::string Well(int index) {
    return fmt::format(
        "{0} uuid GPU-{0}\n{0} name NVIDIA H100\n{0} serial 16{0}\n{0} bus {1}\n{0} minor {0}\n"
        "{0} memory 85899345920\n{0} temperature 41\n{0} slowdown-at 87\n{0} shutdown-at 92\n"
        "{0} power 300000\n{0} utilization 90\n{0} uncorrected 0\n{0} corrected 0\n"
        "{0} remap-pending 0\n{0} clock-reasons 0\n{0} width-most 16\n",
        index, 75 + index);
  }
  // Both GPUs; `lines` come first, and the first line of a kind counts.
  void Show(const std::string& lines) {
    const std::string table =
        node_.stage().Write("answers.new", lines + beside_ + "driver 570.124.06\ngpus 2\n" +
                                               Well(0) + Well(1) + "0 width 16\n1 width 16\n");
    // Whole or not at all: the library reads at any time.
    std::filesystem::rename(table, node_.Path("answers"));
  }
  // Two Pods, each with a GPU.
  void Up(const std::vector<std::string>& more = {}, const std::string& first = "gpu-0",
          const std::string& second = "gpu-1") {
    ASSERT_TRUE(node_.fleet().serves());
    node_.fleet().InstallDefinitions();
    Show("");
    StartDriver(more);
    node_.StartAgent();
    node_.MakePod("first", kNvidia);
    node_.ExpectSays("first", {first + " Healthy"});
    node_.fleet().Create(kube::kPods, "default",
                         "{metadata: {name: second}, spec: {containers: [{name: train, image: t, "
                         "resources: {claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, "
                         "resourceClaimTemplateName: nvidia.example.com}]}}");
    node_.ExpectSays("second", {second + " Healthy"});
  }
  // GPU 0 cut into two MIG instances, with what the kernel module shows of them.
  void Cut() {
    beside_ = "0 mig 1\n0 mig-most 7\n";
    for (int instance = 1; instance <= 2; ++instance) {
      beside_ += fmt::format(
          "0 mig-{0}-uuid MIG-{0}\n0 mig-{0}-name NVIDIA H100 MIG 3g.40gb\n0 mig-{0}-gi {0}\n"
          "0 mig-{0}-ci 0\n0 mig-{0}-memory 40448\n0 mig-{0}-multiprocessors 60\n",
          instance);
      const std::string directory =
          fmt::format("proc/driver/nvidia/capabilities/gpu0/mig/gi{}", instance);
      std::filesystem::create_directories(node_.Path(directory + "/ci0"));
      const auto minor = [](int number) { return fmt::format("DeviceFileMinor: {}\n", number); };
      node_.stage().Write(directory + "/access", minor(10 * instance));
      node_.stage().Write(directory + "/ci0/access", minor(10 * instance + 1));
    }
  }
  void StartDriver(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"nvidia",
                                          "--nvml",
                                          LibraryPath(),
                                          "--node",
                                          "node-7",
                                          "--kubeconfig",
                                          node_.fleet().cluster().kubeconfig(),
                                          "--kubelet-root",
                                          node_.Path("kubelet"),
                                          "--cdi-root",
                                          node_.Path("cdi"),
                                          "--driver-root",
                                          node_.Path("driver"),
                                          "--poll",
                                          "200ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    driver_ =
        &node_.stage().Start("galen-driver", std::move(arguments),
                             {.environment = {"GALEN_NVML_ANSWERS=" + node_.Path("answers")}});
  }
  static std::string LibraryPath() {
    const std::string bin = BuiltProgram("galen-driver");
    return bin.substr(0, bin.rfind("/bin/")) + "/scripted_nvml/libnvidia-ml.so.1";
  }

  FaultStage node_;
  Program* driver_ = nullptr;
  std::string beside_;  // lines of every table
};

TEST_F(Nvidia, AnXidIsOnThePodOfItsGpuAndOnNoOther) {
  Up();
  Show("xid 0 79\n");
  node_.ExpectSays("first", {"gpu-0 Unhealthy since ", "XID 79: GPU has fallen off the bus"});
  EXPECT_EQ(node_.ConditionOf("first"), "False XidGpuLost");
  EXPECT_EQ(node_.LineOf("second"), "gpu-1 Healthy");
}

TEST_F(Nvidia, AProgramsXidLeavesItsGpuHealthyAndIsAnEvent) {
  Up();
  Show("xid 0 13\n");
  node_.ExpectWhy("first", {"XID 13: graphics engine fault"});
  EXPECT_EQ(node_.LineOf("first"), "gpu-0 Healthy");
}

TEST_F(Nvidia, WhatWaitsForAResetAndALinkOfHalfItsWidthMakeItDegraded) {
  Up();
  Show("0 remap-pending 1\n1 width 8\n");
  node_.ExpectSays("first", {"gpu-0 Degraded 1.00 since ", "waits for a GPU reset to be replaced"});
  node_.ExpectSays("second", {"gpu-1 Degraded 0.50 since ", "PCIe link x8, expected x16"});
  Show("");
  node_.ExpectSays("first", {"gpu-0 Healthy"});
  node_.ExpectSays("second", {"gpu-1 Healthy"});
}

TEST_F(Nvidia, AGpuWhoseCallsHangIsUnknownTheOtherStaysAndTheDriverEndsCleanly) {
  Up();
  Show("0 hangs 1\n1 uncorrected 3\n");
  node_.ExpectSays("second", {"gpu-1 Unhealthy since ", "Uncorrectable memory errors"});
  node_.ExpectSays("first", {"gpu-0 Unknown since ", "cannot read nvml: no answer for 5 s"});
  EXPECT_THAT(node_.ConditionOf("first"), HasSubstr("Unknown "));
  node_.End(*driver_, SIGTERM);
  EXPECT_EQ(driver_->exit_code(), 0) << driver_->Log();
}

// In a domain of its own: what earlier runs wrote is in the log until the next boot. A line without
// its end would wait there for the next one.
TEST_F(Nvidia, AnXidOfTheKernelsLogCountsByTheRealAddressAndOnlyOnceWithNvmls) {
  if (access("/dev/kmsg", R_OK | W_OK) != 0) {
    GTEST_SKIP() << "a fault as a line of the kernel's log (/dev/kmsg is for root to write)";
  }
  const int domain = 0x1000 + getpid() % 0xe000;
  beside_ = fmt::format("0 domain {}\n", domain);
  Up({"--kernel-log", "/dev/kmsg"});
  std::ofstream("/dev/kmsg") << fmt::format(
      "NVRM: Xid (PCI:{:04x}:4b:00): 79, GPU has fallen off the bus.\n", domain);
  node_.ExpectSays("first", {"gpu-0 Unhealthy since ", "XID 79: GPU has fallen off the bus"});
  Show("xid 0 79\nxid 0 13\n");
  EXPECT_TRUE(node_.stage().Until([&] { return Count(driver_->Log(), "rule=xid-13") == 1; }));
  EXPECT_EQ(Count(driver_->Log(), "rule=xid-79"), 1u) << driver_->Log();
  EXPECT_EQ(node_.LineOf("second"), "gpu-1 Healthy");
}

TEST_F(Nvidia, AGpuThatIsLostStaysAndSaysSo) {
  Up();
  Show("0 result 15\n");
  node_.ExpectSays("first", {"gpu-0 Unhealthy since ", "GPU has fallen off the bus"});
  EXPECT_EQ(node_.LineOf("second"), "gpu-1 Healthy");
}

TEST_F(Nvidia, ContainersGetTheirGpusNodeAndTheDriversLibraries) {
  std::filesystem::create_directories(node_.Path("driver/usr/lib64"));
  std::filesystem::create_directories(node_.Path("driver/dev"));
  node_.stage().Write("driver/usr/lib64/libcuda.so.1", "library");
  node_.stage().Write("driver/dev/nvidiactl", "node");
  Up({"--host-driver-root", "/run/nvidia/driver"});
  std::string files;
  EXPECT_TRUE(node_.stage().Until([&] {
    files = node_.stage().Run({"sh", "-c", "cat " + node_.Path("cdi") + "/*.json"}).output;
    return !files.empty();
  }));
  EXPECT_THAT(files, HasSubstr("\"hostPath\": \"/run/nvidia/driver/dev/nvidia0\""));
  EXPECT_THAT(files, HasSubstr("/dev/nvidiactl"));
  EXPECT_THAT(files, HasSubstr("/run/nvidia/driver/usr/lib64/libcuda.so.1"));
  EXPECT_THAT(files, HasSubstr("NVIDIA_VISIBLE_DEVICES=void"));
}

TEST_F(Nvidia, MigInstancesHaveTheirGpusHealthAndXidsOfTheirOwn) {
  Cut();
  Up({"--proc-root", node_.Path("proc")}, "gpu-0-mig-1-0", "gpu-0-mig-2-0");
  std::string files;
  EXPECT_TRUE(node_.stage().Until([&] {
    files = node_.stage().Run({"sh", "-c", "cat " + node_.Path("cdi") + "/*.json"}).output;
    return files.find("/dev/nvidia-caps/nvidia-cap20") != std::string::npos;
  })) << files;
  EXPECT_THAT(files, HasSubstr("/dev/nvidia-caps/nvidia-cap21"));
  Show("xid 0 46 2 0\n");
  node_.ExpectSays("second", {"gpu-0-mig-2-0 Unhealthy since ", "XID 46: GPU hangs"});
  EXPECT_EQ(node_.LineOf("first"), "gpu-0-mig-1-0 Healthy");
  Show("0 uncorrected 3\n");
  node_.ExpectSays("first", {"gpu-0-mig-1-0 Unhealthy since ", "Uncorrectable memory errors"});
}

// The old module stays loaded after an update of the packages, and a driver that starts then finds
// the new library. Pods that run go on; their GPUs are Unknown, not broken.
TEST_F(Nvidia, AModuleOfAnotherVersionThanTheLibraryMakesGpusUnknownUntilBothMatch) {
  std::filesystem::create_directories(node_.Path("proc/driver/nvidia/gpus/0000:4b:00.0"));
  std::filesystem::create_directories(node_.Path("proc/driver/nvidia/gpus/0000:4c:00.0"));
  node_.stage().Write("proc/driver/nvidia/version",
                      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed\n");
  for (int index = 0; index < 2; ++index) {
    node_.stage().Write(
        fmt::format("proc/driver/nvidia/gpus/0000:4{}:00.0/information", "bc"[index]),
        fmt::format("Model: NVIDIA H100\nGPU UUID: GPU-{0}\nDevice Minor: {0}\n", index));
  }
  const std::vector<std::string> module = {"--proc-root", node_.Path("proc"), "--sysfs-root",
                                           node_.Path("sys")};
  Up(module);
  node_.End(*driver_, SIGTERM);
  Show("init 18\n");
  StartDriver(module);
  node_.ExpectSays("first", {"gpu-0 Unknown since ", "kernel module is 570.124.06, its library"});
  EXPECT_THAT(node_.ConditionOf("first"), HasSubstr("Unknown DriverMismatch"));
  node_.ExpectWhy("first", {"DriverMismatch", "kernel module is 570.124.06"});
  Show("");
  node_.ExpectSays("first", {"gpu-0 Healthy"});
  node_.ExpectSays("second", {"gpu-1 Healthy"});
}

TEST_F(Nvidia, WithoutTheLibraryTheDriverSaysWhatIsMissing) {
  ASSERT_TRUE(node_.fleet().serves());
  const Outcome outcome = node_.stage().Run(
      {BuiltProgram("galen-driver"), "nvidia", "--nvml", "/nowhere/libnvidia-ml.so.1", "--node",
       "node-7", "--kubeconfig", node_.fleet().cluster().kubeconfig(), "--kubelet-root",
       node_.Path("kubelet"), "--cdi-root", node_.Path("cdi")});
  EXPECT_EQ(outcome.exit_code, 64);
  EXPECT_THAT(outcome.error, HasSubstr("is NVIDIA's driver installed, and --nvml right?"));
  EXPECT_THAT(outcome.error, Not(HasSubstr("terminate")));
}

}  // namespace
}  // namespace galen::e2e
