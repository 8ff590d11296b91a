#include "driver/device_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "driver/hardware.h"
#include "probes/kernel_log/fake_kernel_log.h"
#include "protos/galen/simulator/v1/simulator.pb.h"
#include "sdk/app/driver_app.h"
#include "sdk/fake_cluster.h"
#include "sdk/fake_node.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace wire = galen::simulator::v1;

// Hardware, and how often all of it was looked at.
class CountedHardware final : public Hardware {
 public:
  explicit CountedHardware(std::unique_ptr<Hardware> real) : real_(std::move(real)) {}
  StatusOr<std::vector<probes::Sign>> Observe() override {
    ++looks;
    return real_->Observe();
  }
  StatusOr<Inventory> Devices() override { return real_->Devices(); }
  DeviceEdits EditsFor(const std::string& device) const override { return real_->EditsFor(device); }
  Status CanPrepare(const std::string&) const override { return refuses; }
  Status Start(HardwareEvents& events) override { return real_->Start(events); }

  Status refuses;
  int looks = 0;

 private:
  const std::unique_ptr<Hardware> real_;
};

// A whole driver on a fake node, and a kubelet that listens to its health.
class DeviceDriverTest : public ::testing::Test {
 protected:
  DeviceDriverTest() {
    cluster_.AddNode("node-7");
    EXPECT_TRUE(node_.files.MakeDirectories("/state", 0755).ok());
  }

  void Start(Kind kind) {
    config_.kind = kind;
    config_.driver.name = kind == Kind::kGpu ? "gpu.example.com" : "nic.example.com";
    config_.driver.node = "node-7";
    config_.driver.kubelet_root = "/k";
    config_.driver.cdi_root = "/cdi";
    rules_ = std::make_unique<probes::RuleTable>(*LoadRules(node_.files, config_));
    metrics_ = std::make_unique<Metrics>();
    state_ = std::make_unique<probes::StateFile>(
        probes::StateFile::Parts{node_.loop, NullLog(), node_.files},
        std::make_unique<FakeDiskQueue>(), "/state/s.json", "boot");
    state_->Load();
    kind == Kind::kGpu ? MakeGpus() : MakeNics();
    MakeDriver();
    ASSERT_EQ(driver_->Start(), OkStatus());
    ASSERT_EQ(app_->Start(), OkStatus());
    node_.loop.Advance(1s);
    caller_ = std::make_unique<sdk::FakeCaller>(node_.Connect(app_->paths().data));
    kubelet_ = std::make_unique<sdk::FakeSubscriber>(*caller_, "v1");
    node_.loop.RunUntilIdle();
  }
  Edges TheEdges() { return {node_.loop, NullLog(), *metrics_, *state_, *rules_}; }
  // As the program does it, on a loop whose time the test moves.
  void MakeDriver() {
    driver_ = std::make_unique<DeviceDriver>(
        TheEdges(), *hardware_,
        DeviceDriver::Calls{.publish = [this](Inventory inventory) -> std::optional<Failure> {
                              const Status status = app_->Publish(inventory);
                              if (status.ok()) return std::nullopt;
                              return Failure{status.message()};
                            },
                            .health_changed = [this] { app_->HealthChanged(); }},
        config_);
    sdk::DriverApp::Handlers handlers;
    handlers.prepare = [this](const DeviceClaim& claim) { return driver_->Prepare(claim); };
    handlers.health_period = config_.poll;
    handlers.health = [this](HealthWriter& writer) { driver_->Report(writer); };
    app_ = std::move(*sdk::DriverApp::Create({node_.loop, NullLog(), *metrics_, node_.random,
                                              node_.files, node_.sockets, cluster_.client()},
                                             SdkOptions(config_), std::move(handlers)));
    if (simulated_ != nullptr) sdk::ServeSimulator(app_->methods(), *simulated_);
  }
  void MakeGpus() {
    auto kernel_log = std::make_unique<probes::FakeKernelLog>();
    kernel_log_ = kernel_log.get();
    auto simulated = std::make_unique<GpuHardware>(
        TheEdges(), GpuHardware::Options{.count = 8, .seed = "node-7", .shared = config_.shared},
        std::move(kernel_log));
    simulated_ = simulated.get();
    auto gpus = std::make_unique<CountedHardware>(std::move(simulated));
    gpus_ = gpus.get();
    hardware_ = std::move(gpus);
  }
  void MakeNics() {
    hardware_ = std::make_unique<NicHardware>(node_.loop, node_.files,
                                              probes::NetworkProbe::Options{.patterns = {"eth*"}},
                                              [this](NicHardware::LinkNews news) {
                                                link_news_ = std::move(news);
                                                return OkStatus();
                                              });
  }
  void WriteNic(const std::string& file, const std::string& text) {
    const std::string path = "/sys/class/net/eth0/" + file;
    EXPECT_TRUE(node_.files.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    EXPECT_TRUE(node_.files.WriteAtomically(path, text, 0644).ok());
  }
  void AddNic() {
    WriteNic("flags", "0x1003\n");
    WriteNic("address", "02:00:00:00:00:01\n");
    WriteNic("carrier", "1\n");
    WriteNic("carrier_changes", "0\n");
    for (const char* counter : {"rx_errors", "rx_crc_errors", "tx_errors"}) {
      WriteNic(std::string("statistics/") + counter, "0\n");
    }
  }
  void Kill() {
    kubelet_.reset();
    caller_.reset();
    app_.reset();
    driver_.reset();
    hardware_.reset();
    node_.files.Crash();
  }

  StatusOr<wire::InjectResponse> Inject(std::string device, std::string sign, std::string value) {
    wire::InjectRequest request;
    request.set_device(std::move(device));
    request.set_sign(std::move(sign));
    request.set_value(std::move(value));
    return caller_->Call<wire::InjectResponse>("/galen.simulator.v1.Simulator/Inject", request);
  }
  const v1::DeviceHealth& Health(std::string_view device) { return kubelet_->Latest(device); }
  std::vector<DeviceTaint> Taints(std::string_view device) {
    for (const kube::ResourceSlice& slice : cluster_.Slices()) {
      for (const kube::SliceDevice& each : slice.devices) {
        if (each.name == device) return each.taints;
      }
    }
    ADD_FAILURE() << "no device " << device;
    return {};
  }

  sdk::FakeNode node_;
  sdk::FakeCluster cluster_{node_.loop, node_.random};
  DriverConfig config_;
  std::unique_ptr<probes::RuleTable> rules_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<probes::StateFile> state_;
  std::unique_ptr<Hardware> hardware_;
  CountedHardware* gpus_ = nullptr;
  GpuHardware* simulated_ = nullptr;
  probes::FakeKernelLog* kernel_log_ = nullptr;
  NicHardware::LinkNews link_news_;
  std::unique_ptr<DeviceDriver> driver_;
  std::unique_ptr<sdk::DriverApp> app_;
  std::unique_ptr<sdk::FakeCaller> caller_;
  std::unique_ptr<sdk::FakeSubscriber> kubelet_;
};

TEST_F(DeviceDriverTest, PublishesEightHealthyGpusWithTheirIdentity) {
  Start(Kind::kGpu);
  EXPECT_EQ(Health("gpu-7").health(), v1::HEALTHY);
  EXPECT_EQ(Health("gpu-0").galen().model(), "H200");
  const auto slices = cluster_.Slices();
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_THAT(slices[0].devices, SizeIs(8));
  EXPECT_TRUE(slices[0].devices[0].attributes.contains("resource.kubernetes.io/pciBusID"));
}

TEST_F(DeviceDriverTest, AClaimOrAPluginsDeviceThatHardwareRefusesSaysWhy) {
  Start(Kind::kGpu);
  EXPECT_EQ(std::get<CdiEdits>(driver_->EditsFor("gpu-0")),
            std::get<CdiEdits>(gpus_->EditsFor("gpu-0")));
  gpus_->refuses = FailedPrecondition("the module is old");
  EXPECT_EQ(std::get<Failure>(driver_->Prepare({.devices = {{.device = "gpu-0"}}})).message,
            "the module is old");
  EXPECT_EQ(std::get<Failure>(driver_->EditsFor("gpu-0")).message, "the module is old");
}

TEST_F(DeviceDriverTest, SharedGpusSaySo) {
  config_.shared = true;
  Start(Kind::kGpu);
  EXPECT_TRUE(cluster_.Slices().at(0).devices[7].allow_multiple_allocations);
}

TEST_F(DeviceDriverTest, AnUnhealthyGpuIsTaintedWhenAskedForUntilItIsHealthyAgain) {
  config_.taint_unhealthy = "NoExecute";
  Start(Kind::kGpu);
  EXPECT_THAT(Taints("gpu-3"), SizeIs(0));
  ASSERT_TRUE(Inject("gpu-3", "xid", "79").ok());
  node_.loop.Advance(1s);
  ASSERT_THAT(Taints("gpu-3"), SizeIs(1));
  EXPECT_EQ(Taints("gpu-3")[0].key, "gpu.example.com/unhealthy");
  EXPECT_EQ(Taints("gpu-3")[0].value, "XidGpuLost");
  EXPECT_EQ(Taints("gpu-3")[0].effect, TaintEffect::kNoExecute);
  EXPECT_THAT(Taints("gpu-4"), SizeIs(0));
  ASSERT_TRUE(Inject("gpu-3", "reset", "").ok());
  node_.loop.Advance(1s);
  EXPECT_THAT(Taints("gpu-3"), SizeIs(0));
}

TEST_F(DeviceDriverTest, ATaintOutlivesTheDriverThatGaveIt) {
  config_.taint_unhealthy = "NoSchedule";
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-3", "xid", "79").ok());
  node_.loop.Advance(10s);
  Kill();
  node_.loop.Advance(1s);
  const int writes = cluster_.wire().writes();
  Start(Kind::kGpu);
  ASSERT_THAT(Taints("gpu-3"), SizeIs(1));
  EXPECT_EQ(cluster_.wire().writes(), writes) << "never published without it in between";
}

TEST_F(DeviceDriverTest, AWithdrawnGpuIsInNoSliceAndItsHealthIsStillReported) {
  config_.withdraw_unhealthy = "always";
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-3", "xid", "79").ok());
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(7));
  EXPECT_EQ(Health("gpu-3").health(), v1::UNHEALTHY);
  EXPECT_EQ(Health("gpu-3").message(), "XID 79: GPU has fallen off the bus");
  ASSERT_TRUE(Inject("gpu-3", "reset", "").ok());
  node_.loop.Advance(1s);
  EXPECT_THAT(cluster_.Slices().at(0).devices, SizeIs(8));
}

TEST_F(DeviceDriverTest, AnInjectedXidReachesTheKubeletAtOnceWithItsCauseAndTime) {
  Start(Kind::kGpu);
  const auto injected = Inject("gpu-3", "xid", "79");
  ASSERT_TRUE(injected.ok()) << injected.status().message();
  const v1::DeviceHealth& health = Health("gpu-3");
  EXPECT_EQ(health.health(), v1::UNHEALTHY);
  EXPECT_EQ(health.message(), "XID 79: GPU has fallen off the bus");
  EXPECT_EQ(health.galen().code(), "XidGpuLost");
  EXPECT_EQ(health.galen().owner(), "Hardware");
  EXPECT_EQ(health.galen().sign(), "simulator: xid 79");
  EXPECT_EQ(health.galen().sign_unix_nanos(), injected->injected_unix_nanos());
  EXPECT_EQ(Health("gpu-4").health(), v1::HEALTHY);
}

TEST_F(DeviceDriverTest, HeatIsReportedAfterItsDebounceAndItsEndAfterTheQuiet) {
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-5", "temperature", "91").ok());
  node_.loop.Advance(2900ms);
  EXPECT_EQ(Health("gpu-5").health(), v1::HEALTHY);
  node_.loop.Advance(200ms);
  EXPECT_EQ(Health("gpu-5").message(), "GPU temperature 91 °C exceeds 85 °C");
  ASSERT_TRUE(Inject("gpu-5", "temperature", "60").ok());
  node_.loop.Advance(2900ms);
  EXPECT_EQ(Health("gpu-5").health(), v1::UNHEALTHY);
  node_.loop.Advance(200ms);
  EXPECT_EQ(Health("gpu-5").health(), v1::HEALTHY);
}

TEST_F(DeviceDriverTest, ALostPartOfALinkIsDegradedWithItsShare) {
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-5", "pcie-width", "8").ok());
  EXPECT_TRUE(Health("gpu-5").galen().degraded());
  EXPECT_DOUBLE_EQ(Health("gpu-5").galen().share(), 0.5);
  EXPECT_EQ(Health("gpu-5").message(), "PCIe link x8, expected x16: half the bandwidth");
}

TEST_F(DeviceDriverTest, ALostGpuStaysLostOverADriverThatIsKilledAndComesBack) {
  Start(Kind::kGpu);
  const auto injected = Inject("gpu-3", "xid", "79");
  node_.loop.Advance(10s);
  Kill();
  node_.loop.Advance(30s);
  Start(Kind::kGpu);
  EXPECT_EQ(Health("gpu-3").galen().code(), "XidGpuLost");
  EXPECT_EQ(Health("gpu-3").galen().sign_unix_nanos(), injected->injected_unix_nanos());
  ASSERT_TRUE(Inject("gpu-3", "reset", "").ok());
  EXPECT_EQ(Health("gpu-3").health(), v1::HEALTHY);
}

TEST_F(DeviceDriverTest, TheKernelsLogSpeaksOfAGpuByItsAddress) {
  Start(Kind::kGpu);
  kernel_log_->Append("12,1,1000,-;NVRM: Xid (PCI:0000:ff:1f): 79, GPU has fallen off the bus.\n");
  node_.loop.RunUntilIdle();
  EXPECT_EQ(Health("gpu-0").galen().code(), "XidGpuLost");
  EXPECT_EQ(Health("gpu-0").galen().sign(), "kernel log: Xid 79 on 0000:ff:1f");
}

TEST_F(DeviceDriverTest, AFaultOfAProgramLeavesTheGpuHealthyAndIsCounted) {
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-0", "xid", "31").ok());
  EXPECT_EQ(Health("gpu-0").health(), v1::HEALTHY);
  EXPECT_EQ(
      metrics_->Value("galen_driver_events_total", {{"sign", "xid"}, {"code", "XidPageFault"}}), 1);
}

TEST_F(DeviceDriverTest, AFaultOfAProgramIsNotedOnItsHealthyGpuForAMoment) {
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-0", "xid", "31").ok());
  // Its echo, by which each ended program is followed, does not hide it.
  ASSERT_TRUE(Inject("gpu-0", "xid", "45").ok());
  EXPECT_EQ(Health("gpu-0").health(), v1::HEALTHY);
  EXPECT_EQ(Health("gpu-0").galen().code(), "XidPageFault");
  EXPECT_EQ(Health("gpu-0").galen().owner(), "Application");
  EXPECT_EQ(Health("gpu-0").galen().sign(), "simulator: xid 31");
  EXPECT_EQ(Health("gpu-1").galen().code(), "");
  node_.loop.Advance(6s);
  EXPECT_EQ(Health("gpu-0").galen().code(), "") << "the next program's fault is news again";
}

TEST_F(DeviceDriverTest, ARecoverySaysWhichSignShowedIt) {
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-0", "temperature", "93").ok());
  node_.loop.Advance(5s);
  ASSERT_EQ(Health("gpu-0").health(), v1::UNHEALTHY);
  ASSERT_TRUE(Inject("gpu-0", "temperature", "60").ok());
  node_.loop.Advance(5s);
  ASSERT_EQ(Health("gpu-0").health(), v1::HEALTHY);
  EXPECT_EQ(Health("gpu-0").galen().sign(), "simulator: temperature 60 °C for 3 s");
}

// Hundreds of other devices would make it late; they are looked at in their turn all the same.
TEST_F(DeviceDriverTest, ASignThatComesByItselfIsReportedWithoutALookAtAllOthers) {
  Start(Kind::kGpu);
  const int looks = gpus_->looks;
  ASSERT_TRUE(Inject("gpu-0", "xid", "79").ok());
  EXPECT_EQ(Health("gpu-0").health(), v1::UNHEALTHY);
  EXPECT_EQ(gpus_->looks, looks);
  node_.loop.Advance(config_.poll);
  EXPECT_GT(gpus_->looks, looks);
}

TEST_F(DeviceDriverTest, ABlindProbeMakesAGpuUnknownWithTheReason) {
  Start(Kind::kGpu);
  ASSERT_TRUE(Inject("gpu-0", "unreadable", "temperature").ok());
  EXPECT_EQ(Health("gpu-0").health(), v1::UNKNOWN);
  EXPECT_THAT(Health("gpu-0").message(), HasSubstr("cannot read temperature"));
  EXPECT_GT(metrics_->Value("galen_driver_read_errors_total", {{"sign", "temperature"}}), 0);
}

TEST_F(DeviceDriverTest, TheSimulatorRefusesWhatThereIsNotAndListsWhatThereIs) {
  Start(Kind::kGpu);
  EXPECT_EQ(Inject("gpu-9", "xid", "79").status().code(), Code::kNotFound);
  EXPECT_EQ(Inject("gpu-0", "temperature", "hot").status().code(), Code::kInvalidArgument);
  const auto listed = caller_->Call<wire::ListSignsResponse>(
      "/galen.simulator.v1.Simulator/ListSigns", wire::ListSignsRequest());
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->devices_size(), 8);
  EXPECT_GT(listed->signs_size(), 20);
}

TEST_F(DeviceDriverTest, WritesNothingWhileNothingHappens) {
  Start(Kind::kGpu);
  node_.loop.Advance(10s);
  const auto writes = node_.files.writes();
  node_.loop.Advance(10min);
  EXPECT_EQ(node_.files.writes(), writes);
}

TEST_F(DeviceDriverTest, ALinksLossIsReportedAsSoonAsTheKernelSaysSo) {
  AddNic();
  Start(Kind::kNic);
  EXPECT_EQ(Health("eth0").health(), v1::HEALTHY);
  EXPECT_EQ(Health("eth0").galen().serial(), "02:00:00:00:00:01");
  WriteNic("carrier", "0\n");
  link_news_({"eth0"});
  node_.loop.RunUntilIdle();
  EXPECT_EQ(Health("eth0").message(), "Network link is down: no carrier");
  WriteNic("carrier", "1\n");
  link_news_({"eth0"});
  node_.loop.RunUntilIdle();
  EXPECT_EQ(Health("eth0").health(), v1::HEALTHY);
  EXPECT_EQ(Inject("eth0", "xid", "79").status().code(), Code::kUnimplemented);
}

TEST_F(DeviceDriverTest, AnInterfaceThatComesLaterIsPublishedAndOthersAreKept) {
  ASSERT_TRUE(node_.files.MakeDirectories("/sys/class/net", 0755).ok());
  Start(Kind::kNic);
  EXPECT_THAT(cluster_.Slices(), ::testing::Each(::testing::Field(&kube::ResourceSlice::devices,
                                                                  ::testing::IsEmpty())));
  AddNic();
  link_news_({"eth0"});
  node_.loop.Advance(2s);
  EXPECT_EQ(Health("eth0").health(), v1::HEALTHY);
  ASSERT_THAT(cluster_.Slices(), SizeIs(1));
  EXPECT_THAT(cluster_.Slices()[0].devices, SizeIs(1));
}

}  // namespace
}  // namespace galen::device_driver
