#include "driver/checked_hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "probes/active_check/fake_result_files.h"
#include "probes/command/fake_command_runner.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::device_driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kCheckedRules = R"(
exporters:
- {name: x, url: "unix:/run/x.sock", labels: {pci: "{pci}"}}
signs:
- {name: present, kind: reading}
- {name: fan, kind: reading, command: [/opt/fan.sh, "{pci}"]}
- {name: heat, kind: reading, exporter: x, metric: heat, optional: true}
rules: []
)";

// One device that is there.
class OneDevice final : public Hardware {
 public:
  StatusOr<Inventory> Devices() override {
    return Inventory{
        {.name = "d0", .attributes = {{"resource.kubernetes.io/pciBusID", "0000:4b:00.0"}}}};
  }
  DeviceEdits EditsFor(const std::string& device) const override {
    return CdiEdits{.env = {"DEVICE=" + device}};
  }
  Status CanPrepare(const std::string&) const override {
    return refuses ? FailedPrecondition("the module is old") : OkStatus();
  }
  Status Start(HardwareEvents&) override { return OkStatus(); }
  StatusOr<std::vector<probes::Sign>> Observe() override {
    if (fails) return Unavailable("bus is away");
    std::vector<probes::Sign> signs = {{.device = "d0", .name = "present", .value = 1.0}};
    if (simulates) signs.push_back({.device = "d0", .name = "active-check", .value = 1.0});
    return signs;
  }
  bool simulates = false;  // shows an active check by itself
  bool fails = false;
  bool refuses = false;
};

class CheckedSink final : public probes::SignSink {
 public:
  void OnSigns(std::vector<probes::Sign> signs) override { all = std::move(signs); }
  std::vector<probes::Sign> all;
};

class CheckedHardwareTest : public ::testing::Test {
 protected:
  CheckedHardwareTest() {
    EXPECT_TRUE(hardware_.Devices().ok());
    EXPECT_EQ(hardware_.Start(events_), OkStatus());
  }

  FakeLoop loop_;
  Metrics metrics_, metrics_of_other_;
  FakeFileSystem disk_;
  probes::StateFile state_{
      {loop_, NullLog(), disk_}, std::make_unique<FakeDiskQueue>(), "/state/probes.json", "boot-1"};
  const probes::RuleTable rules_ = *probes::ParseRules(kCheckedRules, "r");
  StatusOr<std::string> page_ = std::string();
  CheckedSink sink_;
  HardwareEvents events_{sink_, [] {}};
  OneDevice* inner_ = new OneDevice;
  probes::FakeCommandRunner* runner_ = new probes::FakeCommandRunner;
  CheckedHardware hardware_{Edges{loop_, NullLog(), metrics_, state_, rules_},
                            std::unique_ptr<Hardware>(inner_),
                            {.runner = std::unique_ptr<probes::CommandRunner>(runner_),
                             .make_queue = [] { return std::make_unique<FakeDiskQueue>(); },
                             .fetch = [this](const auto&, Duration) { return page_; }}};
};

TEST_F(CheckedHardwareTest, ShowsWhatTheHardwareShowsAndWhatCommandsSay) {
  EXPECT_THAT(*hardware_.Observe(), SizeIs(1));
  ASSERT_THAT(runner_->requests, SizeIs(1));
  EXPECT_THAT(runner_->requests[0].command, ElementsAre("/opt/fan.sh", "0000:4b:00.0"));
  runner_->End(0, {.number = 1, .output = "fan 2 stands\n"});
  ASSERT_THAT(sink_.all, SizeIs(1));
  EXPECT_EQ(sink_.all[0].detail, "fan 2 stands");
  EXPECT_THAT(*hardware_.Observe(), SizeIs(2));
}

// A program that ends without its destructors leaves none of them behind.
TEST_F(CheckedHardwareTest, EndsItsCommandsWhenItIsTo) {
  struct Noting final : probes::CommandRunner {
    explicit Noting(bool& gone_in) : gone(gone_in) {}
    ~Noting() override { gone = true; }
    void Run(probes::CommandRequest, std::function<void(const probes::CommandEnd&)>) override {}
    bool& gone;
  };
  bool gone = false;
  CheckedHardware hardware(Edges{loop_, NullLog(), metrics_of_other_, state_, rules_},
                           std::make_unique<OneDevice>(),
                           {.runner = std::make_unique<Noting>(gone),
                            .make_queue = [] { return std::make_unique<FakeDiskQueue>(); },
                            .fetch = [this](const auto&, Duration) { return page_; }});
  EXPECT_TRUE(hardware.Observe().ok());
  hardware.EndProcesses();
  EXPECT_TRUE(gone);
}

TEST_F(CheckedHardwareTest, ShowsWhatAnExporterSaysOfADevice) {
  page_ = std::string("heat{pci=\"00000000:4B:00.0\"} 91\n");
  const std::vector<probes::Sign> signs = *hardware_.Observe();
  ASSERT_THAT(signs, SizeIs(2));
  EXPECT_EQ(signs[1].name, "heat");
  EXPECT_EQ(probes::NumberOf(signs[1]), 91);
}

// What an active check left, beside hardware that shows such a sign itself, and hardware that does
// not.
TEST_F(CheckedHardwareTest, ShowsWhatAnActiveCheckLeft) {
  auto files = std::make_unique<probes::FakeResultFiles>();
  probes::FakeResultFiles& left = *files;
  auto inner = std::make_unique<OneDevice>();
  OneDevice& device = *inner;
  CheckedHardware hardware(
      Edges{loop_, NullLog(), metrics_of_other_, state_, rules_}, std::move(inner),
      {.runner = std::make_unique<probes::FakeCommandRunner>(),
       .make_queue = [] { return std::make_unique<FakeDiskQueue>(); },
       .fetch = [this](const auto&, Duration) { return page_; },
       .results = std::make_unique<probes::CheckResults>(
           probes::CheckResults::Parts{loop_, NullLog(), metrics_of_other_}, std::move(files),
           std::make_unique<FakeDiskQueue>(), "/checks", "boot-1")});
  ASSERT_TRUE(hardware.Devices().ok());
  const auto shown = [&] {
    std::vector<double> values;
    const auto signs = hardware.Observe();
    for (const probes::Sign& sign : *signs) {
      if (sign.name == "active-check") values.push_back(*probes::NumberOf(sign));
    }
    return values;
  };
  EXPECT_THAT(shown(), ElementsAre(0));
  device.simulates = true;
  EXPECT_THAT(shown(), ElementsAre(1));
  CheckResult result{.device = "d0", .verdict = CheckVerdict::kPassed, .boot_id = "boot-1"};
  result.began = result.ended = loop_.WallNow();
  left.Write("d0.json", ToJson(result).Dump());
  EXPECT_THAT(shown(), ElementsAre(0));
  device.simulates = false;
  result.verdict = CheckVerdict::kFailed;
  result.message = "bit 17 is wrong";
  left.Write("d0.json", ToJson(result).Dump());
  EXPECT_THAT(shown(), ElementsAre(1));
}

TEST_F(CheckedHardwareTest, HardwareThatCannotBeLookedAtIsSaidSo) {
  inner_->fails = true;
  EXPECT_EQ(hardware_.Observe().status().code(), Code::kUnavailable);
}

TEST_F(CheckedHardwareTest, WhatTheHardwareCannotPrepareIsRefused) {
  EXPECT_EQ(hardware_.CanPrepare("card-0"), OkStatus());
  inner_->refuses = true;
  EXPECT_EQ(hardware_.CanPrepare("card-0").message(), "the module is old");
}

TEST_F(CheckedHardwareTest, ListsItsCommandsForEachDevice) {
  EXPECT_EQ(hardware_.Checks().at(0).state, "waiting");
  EXPECT_TRUE(hardware_.Observe().ok());
  ASSERT_THAT(hardware_.Checks(), SizeIs(1)) << "an exporter is no command";
  EXPECT_EQ(hardware_.Checks().at(0).name, "fan");
  EXPECT_EQ(hardware_.Checks().at(0).device, "d0");
  EXPECT_EQ(hardware_.Checks().at(0).state, "running");
  runner_->End(0, {.number = 1, .output = "fan 2 stands\n"});
  EXPECT_EQ(hardware_.Checks().at(0).result, "problem");
  EXPECT_EQ(hardware_.Checks().at(0).says, "fan 2 stands");
}

TEST_F(CheckedHardwareTest, ContainersGetWhatTheHardwareGives) {
  EXPECT_THAT(std::get<CdiEdits>(hardware_.EditsFor("d0")).env, ElementsAre("DEVICE=d0"));
  EXPECT_FALSE(hardware_.may_hang());
}

TEST(CheckedDevice, IsKnownByItsNameAndTheAttributesThatAreText) {
  const probes::CheckedDevice device = CheckedDeviceOf(
      {.name = "gpu-0", .attributes = {{"uuid", "GPU-1"}, {"model", "H100"}, {"serial", true}}});
  EXPECT_EQ(device.name, "gpu-0");
  EXPECT_THAT(device.known,
              ElementsAre(testing::Pair("device", "gpu-0"), testing::Pair("uuid", "GPU-1")));
}

}  // namespace
}  // namespace galen::device_driver
