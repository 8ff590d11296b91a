// NVIDIA's GPUs and their MIG instances as a driver's devices, by a fake NVML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "driver/device_driver.h"
#include "driver/hardware.h"
#include "probes/kernel_log/fake_kernel_log.h"
#include "probes/nvml/fake_nvml.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What is said last of each device: "Healthy", "Unknown", or the code of what is wrong.
struct SaidHealth final : HealthWriter {
  using HealthWriter::Healthy;
  void Healthy(std::string_view device, HealthCause) override { Say(device, "Healthy"); }
  void Unhealthy(std::string_view device, HealthCause cause) override { Say(device, cause.code); }
  void Degraded(std::string_view device, double, HealthCause cause) override {
    Say(device, cause.code);
  }
  void Unknown(std::string_view device, HealthCause) override { Say(device, "Unknown"); }
  void Timeout(std::string_view, std::chrono::seconds) override {}
  void Say(std::string_view device, const std::string& what) { of[std::string(device)] = what; }

  std::map<std::string, std::string> of;
};

class NvidiaHardwareTest : public ::testing::Test, private probes::SignSink {
 protected:
  static probes::NvmlPartition Instance(unsigned gpu, unsigned compute) {
    return {.uuid = fmt::format("MIG-{}-{}", gpu, compute),
            .profile = "1g.10gb",
            .gpu_instance = gpu,
            .compute_instance = compute,
            .memory = std::uint64_t{9856} << 20,
            .multiprocessors = 14};
  }
  NvidiaHardwareTest() {
    nvml_.gpus = {{.uuid = "GPU-a",
                   .serial = "165",
                   .model = "H100",
                   .pci_address = "0000:4b:00.0",
                   .minor = 0,
                   .memory = std::uint64_t{81920} << 20,
                   .is_partitioned = true,
                   .partitions = {Instance(1, 0), Instance(2, 0)}},
                  {.uuid = "GPU-b", .pci_address = "0000:4c:00.0", .minor = 1}};
    nvml_.partitions["GPU-a"] = nvml_.gpus[0].partitions;
    nvml_.shows["GPU-a"] = {{.name = "power", .value = 300.0}};
    nvml_.shows["GPU-b"] = {{.name = "power", .value = 310.0}};
  }
  void Make(bool health_only = false) {
    MakeUnstarted(health_only);
    Names();
    ASSERT_EQ(hardware_->Start(events_), OkStatus());
    loop_.RunUntilIdle();
  }
  void MakeUnstarted(bool health_only = false) {
    NvidiaHardware::Options options;
    options.gpus = nvml_.gpus;
    options.find_files = [] { return NvidiaFiles{.control_nodes = {"nvidiactl"}}; };
    options.module_version = [] { return std::string(); };
    options.find_mig_nodes = [this](int minor, const probes::NvmlPartition& partition) {
      return MigNodes(minor, partition);
    };
    options.with_partitioned = health_only;
    hardware_.reset();
    metrics_ = std::make_unique<Metrics>();
    auto log = std::make_unique<probes::FakeKernelLog>();
    kernel_log_ = log.get();
    hardware_ = std::make_unique<NvidiaHardware>(
        Edges{loop_, NullLog(), *metrics_, state_, rules_}, std::move(options), nvml_,
        [] { return std::make_unique<FakeDiskQueue>(); }, std::move(log));
  }
  // The driver of this hardware, which has looked once.
  std::unique_ptr<DeviceDriver> Drive(const DriverConfig& config) {
    MakeUnstarted();
    auto driver = std::make_unique<DeviceDriver>(
        Edges{loop_, NullLog(), *metrics_, state_, rules_}, *hardware_,
        DeviceDriver::Calls{.publish = [](const Inventory&) { return std::nullopt; },
                            .health_changed = [] {}},
        config);
    EXPECT_EQ(driver->Start(), OkStatus());
    loop_.RunUntilIdle();
    return driver;
  }
  StatusOr<std::vector<std::string>> MigNodes(int minor, const probes::NvmlPartition& partition) {
    if (destroyed_) return FailedPrecondition("the MIG instance was destroyed");
    return std::vector<std::string>{
        fmt::format("nvidia-caps/gpu{}-gi{}", minor, partition.gpu_instance)};
  }
  std::vector<std::string> Names() {
    devices_.clear();
    Inventory inventory = *hardware_->Devices();
    for (Device& device : inventory) devices_[device.name] = std::move(device);
    std::vector<std::string> names;
    for (const auto& [name, device] : devices_) names.push_back(name);
    return names;
  }
  std::string Attribute(const std::string& device, const std::string& name) {
    const auto& attributes = devices_.at(device).attributes;
    const auto found = attributes.find(name);
    if (found == attributes.end()) return "none";
    return std::get<std::string>(found->second);
  }
  // Whose power was read, or whose XIDs came, since the last call.
  std::vector<std::string> Shown(std::string_view sign) {
    std::vector<std::string> devices;
    for (const probes::Sign& each : std::exchange(signs_, {})) {
      if (each.name == sign) devices.push_back(each.device);
    }
    return devices;
  }
  void Look() { EXPECT_THAT(*hardware_->Observe(), IsEmpty()); }
  std::vector<std::string> NodesOf(const std::string& device) {
    std::vector<std::string> nodes;
    const auto edits = std::get<CdiEdits>(hardware_->EditsFor(device));
    for (const auto& node : edits.device_nodes) nodes.push_back(node.path);
    return nodes;
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  std::unique_ptr<Metrics> metrics_;
  probes::StateFile state_{
      {loop_, NullLog(), files_}, std::make_unique<FakeDiskQueue>(), "/s.json", "boot"};
  probes::RuleTable rules_;
  probes::FakeNvml nvml_;
  std::unique_ptr<NvidiaHardware> hardware_;
  probes::FakeKernelLog* kernel_log_ = nullptr;
  std::map<std::string, Device> devices_;
  int looks_asked_ = 0;
  bool destroyed_ = false;

 private:
  void OnSigns(std::vector<probes::Sign> signs) override {
    for (probes::Sign& sign : signs) signs_.push_back(std::move(sign));
  }
  HardwareEvents events_{*this, [this] { ++looks_asked_; }};
  std::vector<probes::Sign> signs_;
};

TEST_F(NvidiaHardwareTest, MigInstancesAreDevicesInThePlaceOfTheirGpu) {
  Make();
  EXPECT_THAT(Names(), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0", "gpu-1"));
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "uuid"), "MIG-1-0");
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "parentUUID"), "GPU-a");
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "profile"), "1g.10gb");
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "model"), "H100");
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "resource.kubernetes.io/pciBusID"), "0000:4b:00.0");
  EXPECT_EQ(devices_.at("gpu-0-mig-1-0").capacity.at("memory"), "9856Mi");
  EXPECT_EQ(devices_.at("gpu-0-mig-1-0").capacity.at("multiprocessors"), "14");
  EXPECT_EQ(Attribute("gpu-1", "parentUUID"), "none");
}

TEST_F(NvidiaHardwareTest, WhatAGpuShowsEachOfItsInstancesShows) {
  Make();
  Look();
  EXPECT_THAT(Shown("power"), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0", "gpu-1"));
}

TEST_F(NvidiaHardwareTest, AnXidOfAnInstanceIsItsAloneAndOneOfTheGpuThatOfAll) {
  Make();
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-a", 13, "2/0"}};
  loop_.Advance(100ms);
  EXPECT_THAT(Shown("xid"), ElementsAre("gpu-0-mig-2-0"));
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-a", 79, ""}};
  loop_.Advance(100ms);
  EXPECT_THAT(Shown("xid"), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0"));
  // NVML's own word for none; of a GPU that is not cut it means nothing.
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-b", 13, "0/0"}};
  loop_.Advance(100ms);
  EXPECT_THAT(Shown("xid"), ElementsAre("gpu-1"));
}

TEST_F(NvidiaHardwareTest, TheKernelsLogNamesTheInstanceAndCountsOnceBesideNvml) {
  Make();
  kernel_log_->Append("3,1,0,-;NVRM: Xid (PCI:0000:4b:00 GPU-I:01 GPU-CI:00): 43, pid=1, name=a\n");
  loop_.RunUntilIdle();
  EXPECT_THAT(Shown("xid"), ElementsAre("gpu-0-mig-1-0"));
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-a", 43, "2/0"}};
  loop_.Advance(100ms);
  EXPECT_THAT(Shown("xid"), ElementsAre("gpu-0-mig-2-0")) << "that is another instance's";
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-a", 43, "1/0"}};
  loop_.Advance(100ms);
  EXPECT_THAT(Shown("xid"), IsEmpty());
}

TEST_F(NvidiaHardwareTest, InstancesThatAreMadeAndDestroyedComeAndGo) {
  Make();
  nvml_.partitions["GPU-a"] = std::vector{Instance(2, 0), Instance(3, 0)};
  Look();
  EXPECT_EQ(looks_asked_, 1);
  EXPECT_THAT(Names(), ElementsAre("gpu-0-mig-2-0", "gpu-0-mig-3-0", "gpu-1"));
  Shown("");
  Look();
  EXPECT_THAT(Shown("power"), ElementsAre("gpu-0-mig-2-0", "gpu-0-mig-3-0", "gpu-1"));
  EXPECT_EQ(looks_asked_, 1);
}

TEST_F(NvidiaHardwareTest, AGpuThatSaysNothingOfItsInstancesKeepsThem) {
  Make();
  nvml_.partitions["GPU-a"] = std::nullopt;
  nvml_.shows["GPU-a"] = {{.name = "gpu-lost", .value = 1.0}};
  Look();
  EXPECT_THAT(Names(), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0", "gpu-1"));
  EXPECT_THAT(Shown("gpu-lost"), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0"));
}

TEST_F(NvidiaHardwareTest, AContainerGetsItsInstancesNodesAndThoseOfTheGpu) {
  Make();
  EXPECT_THAT(NodesOf("gpu-0-mig-2-0"),
              ElementsAre("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-caps/gpu0-gi2"));
  EXPECT_THAT(NodesOf("gpu-1"), ElementsAre("/dev/nvidia1", "/dev/nvidiactl"));
  EXPECT_EQ(hardware_->CanPrepare("gpu-0-mig-2-0"), OkStatus());
}

TEST_F(NvidiaHardwareTest, AnInstanceThatIsGoneIsNotPreparedAndOthersAre) {
  Make();
  destroyed_ = true;
  EXPECT_EQ(hardware_->CanPrepare("gpu-0-mig-2-0").code(), Code::kFailedPrecondition);
  EXPECT_THAT(hardware_->CanPrepare("gpu-0-mig-7-0").message(), HasSubstr("it was destroyed"));
  EXPECT_EQ(hardware_->CanPrepare("gpu-1"), OkStatus());
}

TEST_F(NvidiaHardwareTest, AnInstanceIsNeverGivenWithoutItsNodes) {
  Make();
  EXPECT_EQ(hardware_->CanPrepare("gpu-0-mig-2-0"), OkStatus());
  destroyed_ = true;
  EXPECT_EQ(std::get<Failure>(hardware_->EditsFor("gpu-0-mig-2-0")).message,
            "the MIG instance was destroyed");
}

TEST_F(NvidiaHardwareTest, AnInstanceThatIsMadeAnewIsNotPreparedUntilThatIsPublished) {
  Make();
  (*nvml_.partitions["GPU-a"])[1].uuid = "MIG-new";
  Look();
  EXPECT_THAT(hardware_->CanPrepare("gpu-0-mig-2-0").message(),
              HasSubstr("made anew: it was MIG-2-0 and is MIG-new"));
  EXPECT_EQ(hardware_->CanPrepare("gpu-0-mig-1-0"), OkStatus());
  Names();
  EXPECT_EQ(hardware_->CanPrepare("gpu-0-mig-2-0"), OkStatus());
}

TEST_F(NvidiaHardwareTest, AnInstanceThatIsMadeAnewHasNothingOfTheOneBefore) {
  const DriverConfig config;
  rules_ = *LoadRules(files_, config);
  const auto driver = Drive(config);
  SaidHealth health;
  const auto look = [&] {
    loop_.Advance(config.poll);
    driver->Report(health);
  };
  look();
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-a", 62, ""}};
  look();
  look();
  const std::string bad = "XidMicrocontrollerHalted";
  EXPECT_EQ(health.of["gpu-0-mig-1-0"], bad);
  EXPECT_EQ(health.of["gpu-0-mig-2-0"], bad);
  (*nvml_.partitions["GPU-a"])[1].uuid = "MIG-new";
  look();
  look();
  look();
  EXPECT_EQ(health.of["gpu-0-mig-1-0"], bad);
  EXPECT_EQ(health.of["gpu-0-mig-2-0"], "Healthy");
}

TEST_F(NvidiaHardwareTest, AnInstanceThatIsMadeAnewWhileNoDriverRunsHasNothingOfTheOneBefore) {
  const DriverConfig config;
  rules_ = *LoadRules(files_, config);
  SaidHealth health;
  auto driver = Drive(config);
  const auto look = [&] {
    loop_.Advance(config.poll);
    driver->Report(health);
  };
  nvml_.xids = std::vector<probes::NvmlXid>{{"GPU-a", 62, ""}};
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(health.of["gpu-0-mig-2-0"], "XidMicrocontrollerHalted");
  driver.reset();
  nvml_.gpus[0].partitions[1].uuid = "MIG-new";
  nvml_.partitions["GPU-a"] = nvml_.gpus[0].partitions;
  nvml_.xids = std::vector<probes::NvmlXid>{};
  driver = Drive(config);
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(health.of["gpu-0-mig-1-0"], "XidMicrocontrollerHalted");
  EXPECT_EQ(health.of["gpu-0-mig-2-0"], "Healthy");
}

// Five instances of one slow GPU beside three others.
TEST_F(NvidiaHardwareTest, InstancesOfOneGpuAreNoMajorityAmongPeers) {
  rules_ = *probes::ParseRules(
      "signs: [{name: power, kind: reading}]\n"
      "rules: [{id: slow, sign: power, when: '< 80 % of peers', state: Degraded, share: 0.5,\n"
      "  code: Slow, owner: Hardware, sentence: slow}]\n",
      "r.yaml");
  for (unsigned i = 3; i <= 5; ++i) nvml_.gpus[0].partitions.push_back(Instance(i, 0));
  nvml_.partitions["GPU-a"] = nvml_.gpus[0].partitions;
  nvml_.gpus[1] = {.uuid = "GPU-b", .model = "H100", .minor = 1};
  nvml_.gpus.push_back({.uuid = "GPU-c", .model = "H100", .minor = 2});
  nvml_.gpus.push_back({.uuid = "GPU-d", .model = "H100", .minor = 3});
  for (const char* other : {"GPU-b", "GPU-c", "GPU-d"}) {
    nvml_.shows[other] = {{.name = "power", .value = 600.0}};
  }
  const DriverConfig config;
  const auto driver = Drive(config);
  SaidHealth health;
  for (int i = 0; i < 3; ++i) {
    loop_.Advance(config.poll);
    driver->Report(health);
  }
  EXPECT_EQ(health.of["gpu-0-mig-1-0"], "Slow");
  EXPECT_EQ(health.of["gpu-0-mig-5-0"], "Slow");
  EXPECT_EQ(health.of["gpu-1"], "Healthy");
}

TEST_F(NvidiaHardwareTest, OneThatIsFoundWithoutNvmlIsNotPreparedWholeUntilItsModeIsKnown) {
  // As the kernel module shows it while the library is of another version.
  nvml_.gpus = {{.uuid = "GPU-a", .minor = 0, .is_mode_unknown = true},
                {.uuid = "GPU-b", .minor = 1, .is_mode_unknown = true}};
  nvml_.partitioned = {{"GPU-a", std::nullopt}, {"GPU-b", std::nullopt}};
  Make();
  Look();
  EXPECT_THAT(Names(), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_THAT(hardware_->CanPrepare("gpu-0").message(), HasSubstr("NVML has not said yet"));
  nvml_.partitioned = {{"GPU-a", true}, {"GPU-b", false}};
  Look();
  EXPECT_EQ(looks_asked_, 1);
  EXPECT_THAT(Names(), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0", "gpu-1"));
  EXPECT_THAT(hardware_->CanPrepare("gpu-0").message(), HasSubstr("is cut into MIG instances"));
  EXPECT_EQ(hardware_->CanPrepare("gpu-0-mig-1-0"), OkStatus());
  EXPECT_EQ(hardware_->CanPrepare("gpu-1"), OkStatus());
}

TEST_F(NvidiaHardwareTest, AGpuThatIsCutNoMoreIsADeviceAgain) {
  Make();
  nvml_.partitioned["GPU-a"] = std::nullopt;
  Look();
  EXPECT_EQ(looks_asked_, 0);
  nvml_.partitioned["GPU-a"] = false;
  Look();
  EXPECT_EQ(looks_asked_, 1);
  EXPECT_THAT(Names(), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_THAT(hardware_->CanPrepare("gpu-0-mig-1-0").message(), HasSubstr("it was destroyed"));
  EXPECT_EQ(hardware_->CanPrepare("gpu-0"), OkStatus());
}

// The vendor's driver has slices with UUIDs of instances, or of their GPUs: both are found.
TEST_F(NvidiaHardwareTest, BesideAVendorsDriverTheGpuIsADeviceToo) {
  Make(true);
  EXPECT_THAT(Names(), ElementsAre("gpu-0", "gpu-0-mig-1-0", "gpu-0-mig-2-0", "gpu-1"));
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "uuid"), "MIG-1-0");
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "resource.kubernetes.io/pciBusID"), "none")
      << "two devices with one address would match nothing";
  EXPECT_EQ(Attribute("gpu-0-mig-1-0", "serial"), "none");
  EXPECT_EQ(Attribute("gpu-0", "serial"), "165");
  Look();
  EXPECT_THAT(Shown("power"), ElementsAre("gpu-0-mig-1-0", "gpu-0-mig-2-0", "gpu-0", "gpu-1"));
}

}  // namespace
}  // namespace galen::device_driver
