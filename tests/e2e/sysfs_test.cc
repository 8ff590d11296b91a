// Real devices by their files: a driver over a tree like /sys, its agent, and what Pods say when
// files change, or never answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/device_look.h"
#include "probes/sysfs/pci_device.h"
#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SysfsStory : public ::testing::Test {
 protected:
  // A file below the tree, whole at each moment.
  void Write(const std::string& path, const std::string& text) {
    const fs::path file = node_.Path("sys/" + path);
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  void AddPci(const std::string& address) {
    const std::string directory = "bus/pci/devices/" + address + "/";
    Write(directory + "vendor", "0x10de\n");
    Write(directory + "device", "0x2330\n");
    Write(directory + "class", "0x030200\n");
    Write(directory + "current_link_width", "16\n");
    Write(directory + "max_link_width", "16\n");
    Write(directory + "aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n");
  }
  // The API, an agent, and a driver of this kind with a Pod on a device of it.
  void Start(std::vector<std::string> arguments, const std::string& poll = "200ms") {
    ASSERT_TRUE(node_.fleet().serves());
    node_.fleet().InstallDefinitions();
    for (const std::string& more :
         {std::string("--name"), std::string(kDriver), std::string("--node"), std::string("node-7"),
          std::string("--kubeconfig"), node_.fleet().cluster().kubeconfig(),
          std::string("--kubelet-root"), node_.Path("kubelet"), std::string("--cdi-root"),
          node_.Path("cdi"), std::string("--sysfs-root"), node_.Path("sys"), std::string("--poll"),
          poll}) {
      arguments.push_back(more);
    }
    driver_ = &node_.stage().Start("galen-driver", std::move(arguments));
    node_.StartAgent();
    node_.MakePod(kTrainer, kDriver);
    node_.ExpectSays(kTrainer, {" Healthy"});
  }
  // The bus address of the device that the Pod holds: "0000-4b-00-0 Healthy".
  std::string AddressOf(const std::string& pod) {
    const std::string line = node_.LineOf(pod);
    return line.starts_with("0000-4b") ? "0000:4b:00.0" : "0000:4c:00.0";
  }
  // Ends the driver as the kubelet does; it must not wait for a file.
  void ExpectCleanEnd() {
    driver_->Signal(SIGTERM);
    ASSERT_TRUE(node_.stage().Until([&] { return !driver_->running(); }));
    EXPECT_EQ(driver_->exit_code(), 0);
  }

  FaultStage node_;
  Program* driver_ = nullptr;
};

// The tree is ours; that something came is said by the real kernel, of its loopback interface.
TEST_F(SysfsStory, ADeviceThatIsPluggedInIsOfferedLongBeforeTheNextPoll) {
  if (::geteuid() != 0) GTEST_SKIP() << "making the kernel say that a device came needs root";
  AddPci("0000:4b:00.0");
  Start({"pci", "--select", "10de:2330"}, "10s");
  const auto begin = std::chrono::steady_clock::now();
  AddPci("0000:4c:00.0");
  std::ofstream("/sys/class/net/lo/uevent") << "add";
  node_.Expect({"get", "devices"}, {"0000-4c-00-0"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(SysfsStory, APodSaysThatItsPciLinkLostHalfOfItsLanesAndThatItFailed) {
  AddPci("0000:4b:00.0");
  Start({"pci", "--select", "10de:2330"});
  const std::string directory = "bus/pci/devices/0000:4b:00.0/";
  Write(directory + "current_link_width", "8\n");
  node_.ExpectSays(kTrainer,
                   {"0000-4b-00-0 Degraded", "PCIe link at 8 of 16 lanes: half the bandwidth"});
  Write(directory + "aer_dev_fatal", "DLP 1\nTOTAL_ERR_FATAL 1\n");
  node_.ExpectSays(kTrainer, {"0000-4b-00-0 Unhealthy", "Fatal PCIe error"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "False PcieFatal");
  EXPECT_EQ(node_.HealthOf(kTrainer), "Unhealthy");
  node_.ExpectWhy(kTrainer, {"Healthy → Degraded, PcieWidthReduced", "aer_dev_fatal"});
  ExpectCleanEnd();
}

TEST_F(SysfsStory, AFileThatNeverAnswersLeavesOtherDevicesAlone) {
  AddPci("0000:4b:00.0");
  AddPci("0000:4c:00.0");
  Start({"pci", "--select", "class:0302"});
  const std::string held = AddressOf(kTrainer);
  const std::string other = held == "0000:4b:00.0" ? "0000:4c:00.0" : "0000:4b:00.0";
  const fs::path pipe = node_.Path("sys/bus/pci/devices/" + other + "/current_link_width");
  fs::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(
      node_.fleet().GalenSays({"get", "devices"}, "current_link_width has not answered for 2 s"));
  EXPECT_THAT(driver_->Log(), HasSubstr("a file does not answer"));
  EXPECT_THAT(node_.LineOf(kTrainer), HasSubstr(" Healthy"));
  Write("bus/pci/devices/" + held + "/current_link_width", "4\n");
  node_.ExpectSays(kTrainer, {" Degraded", "PCIe link at 4 of 16 lanes"});
  ExpectCleanEnd();
}

// The YAML of docs/guide/health-in-20-lines.md, as it stands there.
std::string YamlOfTheGuide() {
  std::ifstream file(std::string(GALEN_SOURCE_DIR) + "/docs/guide/health-in-20-lines.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string guide = text.str();
  const std::size_t begin = guide.find("```yaml\n") + 8;
  return guide.substr(begin, guide.find("```", begin) - begin);
}

TEST_F(SysfsStory, TheGuidesTwentyLinesGiveACardItsHealth) {
  const std::string rules = YamlOfTheGuide();
  EXPECT_LE(std::count(rules.begin(), rules.end(), '\n'), 20);
  Write("class/acme/card0/temp1_input", "61500\n");
  Write("class/acme/card0/temp1_crit", "95000\n");
  Write("class/acme/card0/errors", "ce 12\nue 0\n");
  Start({"sysfs", "--pattern", "class/acme/card*", "--rules",
         node_.stage().Write("acme.yaml", rules)});
  Write("class/acme/card0/temp1_input", "96500\n");
  node_.ExpectSays(kTrainer, {"card0 Unhealthy", "Card is at 96.5 °C, its limit is 95 °C"});
  Write("class/acme/card0/temp1_input", "garbage\n");
  node_.ExpectSays(kTrainer, {"card0 Unknown", "temp1_input: 'garbage' is not a number"});
  ExpectCleanEnd();
}

// Whatever this machine has: it is read, without an error in our own reading.
TEST(Sysfs, OfThisMachineGivesItsPciDevices) {
  const probes::RealSysfs files;
  if (!files.IsDirectory("/sys/bus/pci/devices")) GTEST_SKIP() << "this machine has no PCI bus";
  const probes::RuleTable rules = *probes::ParseRules(probes::kPciRules, "pci");
  const std::vector<std::string> addresses = *files.List("/sys/bus/pci/devices");
  ASSERT_FALSE(addresses.empty());
  for (const std::string& address : addresses) {
    const StatusOr<std::vector<probes::PciDevice>> found =
        probes::FindPciDevices(files, "/sys", {*probes::ParsePciSelection(address)});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->size(), 1u) << address;
    const probes::DeviceLook look =
        probes::LookAtDevice(files, "/sys/bus/pci/devices/" + address,
                             probes::WithFiles(rules.signs), [](const auto&, const auto&) {});
    EXPECT_TRUE(look.present) << address;
    for (const probes::SignReading& reading : look.readings)
      EXPECT_EQ(reading.error, "") << address;
  }
}

// The kernel's own: it shows a new text each time, and files below folders of it may be kept.
TEST(Sysfs, FilesOfTheKernelThatStayOpenShowWhatItShowsNow) {
  const probes::RealSysfs files;
  probes::SysfsDirectory directory{.path = "/sys/kernel", .keep_open = 8};
  if (!files.IsDirectory(directory.path + "/mm/ksm")) GTEST_SKIP() << "no /sys/kernel/mm/ksm here";
  for (int look = 0; look < 3; ++look) {
    std::optional<probes::SysfsDirectory> opened = files.Open(std::move(directory));
    ASSERT_TRUE(opened);
    directory = *std::move(opened);
    for (const std::string file : {"mm/ksm/pages_to_scan", "mm/ksm/run"}) {
      EXPECT_EQ(*files.ReadIn(directory, file), *files.Read(directory.path + "/" + file));
    }
  }
  EXPECT_EQ(directory.kept.size(), 2u);
  for (const auto& [file, open] : directory.kept) EXPECT_TRUE(open) << file;
}

}  // namespace
}  // namespace galen::e2e
