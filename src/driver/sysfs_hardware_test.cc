#include "driver/sysfs_hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "driver/device_driver.h"
#include "probes/kernel_log/fake_kernel_log.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/fake_sysfs.h"
#include "sdk/health/health_snapshot.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Sink final : public probes::SignSink {
 public:
  void OnSigns(std::vector<probes::Sign> signs) override {
    for (probes::Sign& sign : signs) all.push_back(std::move(sign));
  }
  // "device sign" of each.
  std::vector<std::string> Said() const {
    std::vector<std::string> said;
    for (const probes::Sign& sign : all) said.push_back(sign.device + " " + sign.name);
    return said;
  }
  std::vector<probes::Sign> all;
};

class SysfsHardwareTest : public ::testing::Test {
 protected:
  SysfsHardwareTest() { state_.Load(); }

  void AddPci(const std::string& address) {
    const std::string directory = "/sys/bus/pci/devices/" + address;
    files_.files[directory + "/vendor"] = "0x10de\n";
    files_.files[directory + "/device"] = "0x2330\n";
    files_.files[directory + "/class"] = "0x030200\n";
    files_.files[directory + "/numa_node"] = "1\n";
    files_.links[directory] = "/sys/devices/pci0000:4a/0000:4a:01.0/" + address;
  }
  void MakePci() {
    auto log = std::make_unique<probes::FakeKernelLog>();
    kernel_log_ = log.get();
    Make(PciFinder(files_, "/sys", {*probes::ParsePciSelection("10de")}), std::move(log));
  }
  void Make(DeviceFinder find, std::unique_ptr<probes::KernelLogSource> log = nullptr) {
    hardware_ = std::make_unique<SysfsHardware>(
        Edges{loop_, NullLog(), metrics_, state_, rules_}, files_,
        SysfsHardware::Options{.find = std::move(find),
                               .listen =
                                   [this](probes::OnUevents news) {
                                     plug_ = std::move(news);
                                     return listens_;
                                   }},
        [this] {
          auto queue = std::make_unique<FakeDiskQueue>();
          queues_.push_back(queue.get());
          return queue;
        },
        std::move(log));
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const Inventory devices = *hardware_->Devices();
    for (const Device& device : devices) names.push_back(device.name);
    return names;
  }
  // A driver of what `search` finds.
  void StartDriver() {
    Make([this] { return search_(); });
    config_.driver = {.name = "pci.example.com", .node = "node-7"};
    driver_ = std::make_unique<DeviceDriver>(
        Edges{loop_, log_, metrics_, state_, rules_}, *hardware_,
        DeviceDriver::Calls{.publish = [](const Inventory&) { return std::nullopt; },
                            .health_changed = [] {}},
        config_);
    ASSERT_EQ(driver_->Start(), OkStatus());
  }
  // The device after two more rounds of health: what a search finds is offered in the second.
  HealthState StateOf(const std::string& device) {
    for (int round = 0; round < 2; ++round) {
      loop_.Advance(2s);
      sdk::HealthRound reports;
      driver_->Report(reports);
      last_ = std::move(reports);
    }
    const sdk::HealthRound::Report* report = last_.Find(device);
    return report == nullptr ? HealthState::kUnknown : report->state;
  }
  void Start() {
    ASSERT_TRUE(hardware_->Devices().ok());
    ASSERT_TRUE(hardware_->Start(events_).ok());
  }

  FakeLoop loop_;
  FakeFileSystem disk_;
  Metrics metrics_;
  std::vector<std::string> warnings_;
  Log log_{LogLevel::kWarning, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { warnings_.emplace_back(line); }};
  probes::StateFile state_{
      {loop_, NullLog(), disk_}, std::make_unique<FakeDiskQueue>(), "/s.json", "boot"};
  probes::RuleTable rules_ = *probes::ParseRules(probes::kPciRules, "pci");
  probes::FakeSysfs files_;
  std::vector<FakeDiskQueue*> queues_;
  probes::FakeKernelLog* kernel_log_ = nullptr;
  Sink sink_;
  int looks_ = 0;
  probes::OnUevents plug_;
  Status listens_;
  HardwareEvents events_{sink_, [this] { ++looks_; }};
  std::unique_ptr<SysfsHardware> hardware_;
  DeviceFinder search_ = PciFinder(files_, "/sys", {*probes::ParsePciSelection("10de")});
  DriverConfig config_;
  std::unique_ptr<DeviceDriver> driver_;
  sdk::HealthRound last_;
};

TEST_F(SysfsHardwareTest, OffersPciDevicesWithWhatTheSchedulerCanMatch) {
  AddPci("0000:4b:00.0");
  MakePci();
  const Inventory devices = *hardware_->Devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "0000-4b-00-0");
  const std::map<std::string, Attribute>& attributes = devices[0].attributes;
  EXPECT_EQ(attributes.at("resource.kubernetes.io/pciBusID"), Attribute("0000:4b:00.0"));
  EXPECT_EQ(attributes.at("resource.kubernetes.io/pcieRoot"), Attribute("pci0000:4a"));
  EXPECT_EQ(attributes.at("resource.kubernetes.io/numaNode"), Attribute(std::int64_t{1}));
  EXPECT_EQ(attributes.at("model"), Attribute("10de:2330"));
  EXPECT_THAT(std::get<CdiEdits>(hardware_->EditsFor("0000-4b-00-0")).env,
              ElementsAre("PCI_0=0000:4b:00.0"));
}

TEST_F(SysfsHardwareTest, OffersTheDirectoriesThatAPatternNames) {
  files_.files["/sys/devices/system/edac/mc/mc0/ue_count"] = "0\n";
  files_.files["/sys/devices/system/edac/mc/mc1/ue_count"] = "0\n";
  files_.files["/sys/devices/system/edac/mc/mc_file"] = "";
  Make(PatternFinder(files_, "/sys", {"devices/system/edac/mc/mc*"}));
  EXPECT_THAT(Names(), ElementsAre("mc0", "mc1"));
  EXPECT_THAT(std::get<CdiEdits>(hardware_->EditsFor("mc1")).env,
              ElementsAre("SYSFS_1=devices/system/edac/mc/mc1"));
}

TEST_F(SysfsHardwareTest, AFileThatNoDeviceHasIsSaidOfTheOperatorsTable) {
  AddPci("0000:4b:00.0");
  files_.files["/sys/bus/pci/devices/0000:4b:00.0/load"] = "3\n";
  rules_ = *probes::ParseRules(
      "extends: pci\n"
      "signs: [{name: busy, kind: reading, file: bussy}, {name: load, kind: reading, file: load}]\n"
      "rules: [{id: stuck, sign: busy, while: load > 1, when: '> 99', state: Unhealthy,\n"
      "  code: Stuck, sentence: stuck, owner: Hardware}]\n",
      "r.yaml");
  config_.rules_path = "r.yaml";
  StartDriver();
  StateOf("0000-4b-00-0");
  loop_.Advance(1min);
  const std::string said = fmt::format("{}", fmt::join(warnings_, "\n"));
  EXPECT_THAT(said, HasSubstr("sign=busy rules=stuck looked_for=\"file bussy\" "
                              "below=bus/pci/devices/0000:4b:00.0"));
  EXPECT_THAT(said, HasSubstr("no device shows any sign that the built-in table reads from files"));
  EXPECT_THAT(driver_->IdleRules(), testing::Contains(HasSubstr("the sign busy")));
  EXPECT_EQ(warnings_.size(), 2u) << said;
}

TEST_F(SysfsHardwareTest, OfTheBuiltInTableNobodyExpectsThatADeviceHasAll) {
  AddPci("0000:4b:00.0");
  StartDriver();
  StateOf("0000-4b-00-0");
  loop_.Advance(1min);
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(SysfsHardwareTest, WhereNothingIsSuchADeviceTheLogSaysWhatWasAskedFor) {
  files_.files["/sys/class/acme/card0/temp"] = "1\n";
  search_ = PatternFinder(files_, "/sys", {"class/acme/crad*"});
  config_.patterns = {"class/acme/crad*"};
  StartDriver();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("asked_for=\"--pattern class/acme/crad*\"")));
}

TEST_F(SysfsHardwareTest, RefusesTwoDirectoriesOfOneName) {
  files_.files["/sys/a/x/f"] = files_.files["/sys/b/x/f"] = "0\n";
  Make(PatternFinder(files_, "/sys", {"a/*", "b/*"}));
  EXPECT_THAT(hardware_->Devices().status().message(), HasSubstr("two devices would be named x"));
}

TEST_F(SysfsHardwareTest, ADeviceThatLeavesStaysAndOneThatComesIsOffered) {
  AddPci("0000:4b:00.0");
  MakePci();
  Start();
  ASSERT_TRUE(hardware_->Observe().ok());
  EXPECT_EQ(looks_, 0) << "nothing is new";
  files_.RemoveTree("/sys/bus/pci/devices/0000:4b:00.0");
  AddPci("0000:4c:00.0");
  ASSERT_TRUE(hardware_->Observe().ok());
  EXPECT_EQ(looks_, 1);
  EXPECT_THAT(Names(), ElementsAre("0000-4b-00-0", "0000-4c-00-0"));
}

TEST_F(SysfsHardwareTest, ManyMessagesOfAPluggedCardAreOneLookSoonAfter) {
  AddPci("0000:4b:00.0");
  MakePci();
  Start();
  for (int i = 0; i < 50; ++i) plug_({});
  EXPECT_EQ(looks_, 0) << "the card is not whole yet";
  loop_.Advance(SysfsHardware::kHotplugPause);
  EXPECT_EQ(looks_, 1);
  loop_.Advance(10s);
  EXPECT_EQ(looks_, 1);
  plug_({});
  loop_.Advance(1s);
  EXPECT_EQ(looks_, 2) << "the next one counts as well";
}

TEST_F(SysfsHardwareTest, ACardThatIsPluggedAgainBeforeALookIsAnotherOne) {
  AddPci("0000:4b:00.0");
  AddPci("0000:4c:00.0");
  MakePci();
  Start();
  ASSERT_TRUE(hardware_->Observe().ok());
  plug_({"/devices/pci0000:4a/0000:4a:01.0/0000:4b:00.0", "/devices/virtual/net/lo"});
  sink_.OnSigns(*hardware_->Observe());
  std::erase_if(sink_.all, [](const probes::Sign& sign) { return sign.name != "reset"; });
  EXPECT_THAT(sink_.Said(), ElementsAre("0000-4b-00-0 reset"));
}

TEST_F(SysfsHardwareTest, ContainersThatComeAndGoAreNoMoreLooksThanAPollMakes) {
  AddPci("0000:4b:00.0");
  MakePci();
  Start();
  for (int i = 0; i < 200; ++i) {
    plug_({});
    loop_.Advance(50ms);
  }
  EXPECT_LE(looks_, 5);
  EXPECT_GE(looks_, 4);
  loop_.Advance(2s);
  const int looks = looks_;
  loop_.Advance(10s);
  EXPECT_EQ(looks_, looks) << "the last message was looked after";
}

TEST_F(SysfsHardwareTest, WhereNobodySaysThatDevicesComeItStartsNevertheless) {
  listens_ = PermissionDenied("no netlink here");
  AddPci("0000:4b:00.0");
  MakePci();
  Start();
  EXPECT_TRUE(hardware_->Observe().ok());
}

TEST_F(SysfsHardwareTest, ASearchThatHangsHoldsUpNoReading) {
  AddPci("0000:4b:00.0");
  MakePci();
  Start();
  queues_.front()->Hang();
  EXPECT_FALSE(hardware_->Observe()->empty());
  EXPECT_FALSE(hardware_->Observe()->empty());
  EXPECT_EQ(queues_.front()->waiting(), 1u);
}

TEST_F(SysfsHardwareTest, KnownDevicesAreReadOnWhileSearchesFailAndNewOnesAreFoundAfter) {
  AddPci("0000:4b:00.0");
  const DeviceFinder good = search_;
  StartDriver();
  ASSERT_EQ(StateOf("0000-4b-00-0"), HealthState::kHealthy);
  search_ = [] { return Unavailable("/sys/bus/pci/devices: Too many open files"); };
  EXPECT_EQ(StateOf("0000-4b-00-0"), HealthState::kHealthy);
  EXPECT_EQ(metrics_.Value("galen_sysfs_failed_searches_total"), 2);
  files_.RemoveTree("/sys/bus/pci/devices/0000:4b:00.0");
  EXPECT_EQ(StateOf("0000-4b-00-0"), HealthState::kUnhealthy) << "it left";
  AddPci("0000:4c:00.0");
  search_ = good;
  EXPECT_EQ(StateOf("0000-4c-00-0"), HealthState::kHealthy);
  EXPECT_EQ(StateOf("0000-4b-00-0"), HealthState::kUnhealthy);
}

TEST_F(SysfsHardwareTest, ADeviceThatCannotBeOfferedTakesNoKnownOneWithIt) {
  AddPci("0000:4b:00.0");
  const DeviceFinder good = search_;
  StartDriver();
  search_ = [good] {
    StatusOr<std::vector<FoundDevice>> found = good();
    found->push_back({.device = {.name = "No_Label"}, .path = "x"});
    return found;
  };
  EXPECT_EQ(StateOf("0000-4b-00-0"), HealthState::kHealthy);
  EXPECT_EQ(metrics_.Value("galen_sysfs_failed_searches_total"), 2);
}

TEST_F(SysfsHardwareTest, MoreDevicesThanAreLookedAtAreAFailedSearchAndNoSilence) {
  AddPci("0000:4b:00.0");
  StartDriver();
  search_ = [] {
    std::vector<FoundDevice> found;
    for (std::size_t i = 0; i < probes::SysfsProbe::kDevicesMax; ++i) {
      found.push_back({.device = {.name = fmt::format("d-{}", i)}, .path = "x"});
    }
    return found;
  };
  EXPECT_EQ(StateOf("0000-4b-00-0"), HealthState::kHealthy);
  EXPECT_EQ(metrics_.Value("galen_sysfs_failed_searches_total"), 2);
}

constexpr const char* kFatal =
    ",1,-;nvidia 0000:4b:00.1: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction "
    "Layer, (Receiver ID)\n";

TEST_F(SysfsHardwareTest, ARecordOfTheKernelsLogCountsForTheDeviceOfItsBusAddressAlone) {
  AddPci("0000:4b:00.0");
  AddPci("0000:4b:00.1");
  MakePci();
  Start();
  kernel_log_->Append(std::string("3,7") + kFatal + " SUBSYSTEM=pci\n DEVICE=+pci:0000:4b:00.1\n");
  loop_.RunUntilIdle();
  EXPECT_THAT(sink_.Said(), ElementsAre("0000-4b-00-1 aer-fatal"));
}

TEST_F(SysfsHardwareTest, TextThatOnlyLooksLikeARecordCountsForNobody) {
  AddPci("0000:4b:00.0");
  AddPci("0000:4b:00.1");
  MakePci();
  Start();
  kernel_log_->Append(std::string("3,7") + kFatal);
  kernel_log_->Append("12,8,1,-;NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen off the bus.\n");
  loop_.RunUntilIdle();
  EXPECT_THAT(sink_.Said(), ElementsAre());
}

// One line of the kernel's nvme driver, about the drive nvme0.
constexpr const char* kDriveDead =
    "4,7,1,-;nvme nvme0: Disabling device after reset failure: -19\n SUBSYSTEM=nvme\n"
    " DEVICE=c241:0\n";

TEST_F(SysfsHardwareTest, ALineOfADriversCountsForThePciDeviceOfItsDrive) {
  AddPci("0000:4b:00.0");
  AddPci("0000:4c:00.0");
  files_.files["/sys/bus/pci/devices/0000:4c:00.0/nvme/nvme0/model"] = "FASTDISK\n";
  rules_ = *probes::ParseRules(probes::kNvmeRules, "nvme");
  MakePci();
  Start();
  kernel_log_->Append(kDriveDead);
  loop_.RunUntilIdle();
  EXPECT_THAT(sink_.Said(), ElementsAre("0000-4c-00-0 nvme-dead"));
}

TEST_F(SysfsHardwareTest, ALineOfADriversCountsForTheDirectoryOfItsDrive) {
  files_.files["/sys/class/nvme/nvme0/model"] = "FASTDISK\n";
  files_.files["/sys/class/nvme/nvme1/model"] = "FASTDISK\n";
  rules_ = *probes::ParseRules(probes::kNvmeRules, "nvme");
  auto log = std::make_unique<probes::FakeKernelLog>();
  kernel_log_ = log.get();
  Make(PatternFinder(files_, "/sys", {"class/nvme/nvme*"}), std::move(log));
  Start();
  kernel_log_->Append(kDriveDead);
  // Without the kernel's own word, and of a drive that is not ours.
  kernel_log_->Append("12,8,1,-;nvme nvme1: Disabling device after reset failure: -19\n");
  kernel_log_->Append(
      "4,9,1,-;nvme nvme7: Disabling device after reset failure: -19\n"
      " SUBSYSTEM=nvme\n DEVICE=c241:7\n");
  loop_.RunUntilIdle();
  EXPECT_THAT(sink_.Said(), ElementsAre("nvme0 nvme-dead"));
}

// Four cards of one model, one of them at half the speed of the others.
TEST_F(SysfsHardwareTest, RulesThatAreReadAnewJudgeByPeersAtOnce) {
  for (int slot = 0; slot < 4; ++slot) {
    const std::string address = fmt::format("0000:4{}:00.0", slot);
    AddPci(address);
    files_.files["/sys/bus/pci/devices/" + address + "/current_link_speed"] =
        slot == 0 ? "16.0 GT/s PCIe\n" : "32.0 GT/s PCIe\n";
  }
  search_ = PciFinder(files_, "/sys", {*probes::ParsePciSelection("10de")});
  StartDriver();
  EXPECT_EQ(StateOf("0000-40-00-0"), HealthState::kHealthy);
  const probes::RuleTable next = *probes::ParseRules(
      "extends: pci\nrules:\n- {id: slow, sign: link-speed, when: '< 80 % of peers', state: "
      "Degraded, share: ratio, code: Slow, owner: Hardware, sentence: '{value} of {expected}'}\n",
      "r");
  driver_->SetRules(next);
  EXPECT_EQ(StateOf("0000-40-00-0"), HealthState::kDegraded);
  EXPECT_EQ(StateOf("0000-41-00-0"), HealthState::kHealthy);
  driver_->SetRules(rules_);
  EXPECT_EQ(StateOf("0000-40-00-0"), HealthState::kHealthy);
}

}  // namespace
}  // namespace galen::device_driver
