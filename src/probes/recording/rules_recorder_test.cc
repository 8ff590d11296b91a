#include "probes/recording/rules_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "probes/recording/rules_replay.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kRules = R"(
signs:
- {name: temperature, kind: reading, file: "hwmon/hwmon*/temp1_input", scale: / 1000,
   expected: "hwmon/hwmon*/temp1_crit"}
- {name: speed, kind: reading, file: speed}
- {name: power, kind: reading}
- {name: dead, kind: event, driver: nvme, subsystem: nvme, line: Disabling device}
- {name: reset, kind: event}
rules:
- {id: hot, sign: temperature, when: ">= expected", state: Unhealthy, code: Hot, owner: Hardware,
   sentence: "{value} °C"}
- {id: slow, sign: speed, when: "< 80 % of peers", state: Degraded, share: 0.5, code: Slow,
   owner: Hardware, sentence: "{value} of {expected}"}
- {id: dead, sign: dead, when: == 1, state: Unhealthy, code: Dead, owner: Hardware, until: reset,
   sentence: dead, supersedes: [slow]}
- {id: back, sign: reset, when: == device, state: Healthy, code: Back, owner: Platform,
   sentence: back, clears: [reset]}
- {id: power, sign: power, when: "> 700", state: Degraded, share: 1, code: Power, owner: Platform,
   sentence: "{value} W"}
)";

// Four drives of one model below a fake /sys, recorded into a fake disk.
class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    for (const std::string drive : {"nvme0", "nvme1", "nvme2", "nvme3"}) {
      const std::string directory = "/sys/class/nvme/" + drive;
      sysfs_.files[directory + "/model"] = "FASTDISK 9000   \n";
      sysfs_.files[directory + "/serial"] = "SN-" + drive + "-77\n";
      sysfs_.files[directory + "/speed"] = "100\n";
      sysfs_.files[directory + "/hwmon/hwmon3/temp1_input"] = "41000\n";
      sysfs_.files[directory + "/hwmon/hwmon3/temp1_crit"] = "90000\n";
      for (std::string& secret : SecretsOf(sysfs_, directory)) {
        options_.secrets.push_back(std::move(secret));
      }
    }
  }
  void Start() {
    auto devices = FindRecorded(sysfs_, "/sys", {"class/nvme/nvme*"});
    ASSERT_TRUE(devices.ok()) << devices.status().message();
    recorder_ = std::make_unique<RulesRecorder>(sysfs_, disk_, rules_, *devices, options_);
    ASSERT_EQ(recorder_->Begin(), OkStatus());
  }
  void Show(const std::string& file, const std::string& text) {
    sysfs_.files["/sys/class/nvme/nvme0/" + file] = text;
  }
  std::string Said() {
    const StatusOr<Replay> replay = ReplayRules(DiskAsSysfs(), "/out", rules_);
    EXPECT_TRUE(replay.ok()) << replay.status().message();
    return replay.ok() ? ReplayText(*replay) : "";
  }
  // What was written, for those who read files of devices.
  FakeSysfs DiskAsSysfs() {
    FakeSysfs tree;
    std::vector<std::string> waiting = {"/out"};
    while (!waiting.empty()) {
      const std::string path = waiting.back();
      waiting.pop_back();
      if (const auto text = disk_.Read(path); text.ok()) tree.files[path] = *text;
      const auto names = disk_.List(path);
      if (!names.ok()) continue;
      for (const std::string& name : *names) waiting.push_back(path + "/" + name);
    }
    return tree;
  }
  std::string AllText() {
    std::string all;
    for (const auto& [path, text] : DiskAsSysfs().files) all += path + "\n" + text;
    return all;
  }

  const RuleTable rules_ = *ParseRules(kRules, "r.yaml");
  FakeSysfs sysfs_;
  FakeFileSystem disk_;
  RulesRecorder::Options options_{.directory = "/out", .salt = 7};
  std::unique_ptr<RulesRecorder> recorder_;
};

TEST_F(RecorderTest, WhatItRecordedPlaysAsItHappened) {
  Start();
  ASSERT_EQ(recorder_->Look(0s), OkStatus());
  Show("hwmon/hwmon3/temp1_input", "91000\n");
  ASSERT_EQ(recorder_->Look(4s), OkStatus());
  Show("hwmon/hwmon3/temp1_input", "50000\n");
  Show("speed", "60\n");
  ASSERT_EQ(recorder_->Look(8s), OkStatus());
  EXPECT_TRUE(
      recorder_->NoteKernelRecord("4,7,12,-;nvme nvme0: Disabling device after reset "
                                  "failure: -19\n SUBSYSTEM=nvme\n DEVICE=c241:0\n"));
  recorder_->NoteSigns({{.device = "nvme1", .name = "power", .value = 800.0}});
  ASSERT_EQ(recorder_->Look(12s), OkStatus());
  EXPECT_EQ(Said(),
            "4s nvme0 hot began, Unhealthy: 91 °C\n"
            "8s nvme0 hot ended\n"
            "8s nvme0 slow began, Degraded: 60 of 100\n"
            "12s nvme0 slow superseded by dead\n"
            "12s nvme0 dead began, Unhealthy: dead\n"
            "12s nvme1 power began, Degraded: 800 W\n"
            "72s nvme0 Unhealthy: dead\n"
            "72s nvme1 Degraded: 800 W\n"
            "72s nvme2 Healthy\n"
            "72s nvme3 Healthy\n");
}

TEST_F(RecorderTest, OnlyWhatChangedMakesAStep) {
  Start();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(recorder_->Look(i * 2s), OkStatus());
  EXPECT_EQ(recorder_->steps(), 1u);
  recorder_->NoteSigns({{.device = "nvme1", .name = "power", .value = 800.0}});
  ASSERT_EQ(recorder_->Look(20s), OkStatus());
  recorder_->NoteSigns({{.device = "nvme1", .name = "power", .value = 800.0}});
  recorder_->NoteSigns({{.device = "nvme1", .name = "not-of-this-table", .value = 1.0}});
  ASSERT_EQ(recorder_->Look(22s), OkStatus());
  EXPECT_EQ(recorder_->steps(), 2u);
}

TEST_F(RecorderTest, ADeviceThatLeavesAndAFileThatCannotBeReadArePlayed) {
  Start();
  ASSERT_EQ(recorder_->Look(0s), OkStatus());
  sysfs_.errors["/sys/class/nvme/nvme1/speed"] = Unavailable("input/output error");
  sysfs_.RemoveTree("/sys/class/nvme/nvme3");
  ASSERT_EQ(recorder_->Look(2s), OkStatus());
  EXPECT_THAT(Said(), HasSubstr("2s nvme1 Unknown: cannot read speed: speed: 'cannot be read"));
  EXPECT_THAT(Said(), HasSubstr("2s nvme3 Unknown: cannot read "));
}

TEST_F(RecorderTest, SerialsAreHashedWhereverTheyStand) {
  sysfs_.files["/sys/class/nvme/nvme0/speed"] = "100 of sn-NVME0-77\n";
  Start();
  EXPECT_TRUE(
      recorder_->NoteKernelRecord("4,7,12,-;nvme nvme0: Disabling device SN-nvme0-77 "
                                  "SN-nvme0-77\n SUBSYSTEM=nvme\n DEVICE=c241:0\n"));
  ASSERT_EQ(recorder_->Look(0s), OkStatus());
  EXPECT_THAT(AllText(), Not(HasSubstr("SN-")));
  EXPECT_THAT(AllText(), Not(HasSubstr("NVME0-77")));
  EXPECT_THAT(AllText(), HasSubstr("100 of hashed-"));
  // Under another salt it is another.
  const std::string first = AllText();
  disk_ = FakeFileSystem();
  options_.salt = 8;
  Start();
  ASSERT_EQ(recorder_->Look(0s), OkStatus());
  EXPECT_NE(first.substr(first.find("hashed-"), 20),
            AllText().substr(AllText().find("hashed-"), 20));
}

TEST_F(RecorderTest, KeepsOfTheKernelsLogOnlyWhatIsAFault) {
  Start();
  EXPECT_FALSE(recorder_->NoteKernelRecord("6,1,1,-;audit: user root logged in\n"));
  EXPECT_FALSE(recorder_->NoteKernelRecord("garbage"));
  EXPECT_TRUE(recorder_->NoteKernelRecord("4,2,1,-;NVRM: Xid (PCI:0000:4b:00): 79, x\n"));
}

TEST_F(RecorderTest, ADirectoryThatHasSomethingIsLeftAlone) {
  Start();
  const auto devices = FindRecorded(sysfs_, "/sys", {"class/nvme/nvme*"});
  RulesRecorder second(sysfs_, disk_, rules_, *devices, options_);
  EXPECT_EQ(second.Begin().code(), Code::kAlreadyExists);
}

TEST_F(RecorderTest, KnowsDevicesByModelAndByTheKernelsNames) {
  sysfs_.files["/sys/bus/pci/devices/0000:4b:00.0/vendor"] = "0x10de\n";
  sysfs_.files["/sys/bus/pci/devices/0000:4b:00.0/device"] = "0x2330\n";
  const auto devices =
      FindRecorded(sysfs_, "/sys", {"class/nvme/nvme0", "bus/pci/devices/0000:4b:00.*"});
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_THAT(
      *devices,
      ElementsAre(
          RecordedDevice{"nvme0", "class/nvme/nvme0", "FASTDISK 9000", {"nvme:nvme0"}},
          RecordedDevice{
              "0000-4b-00-0", "bus/pci/devices/0000:4b:00.0", "10de:2330", {"0000:4b:00.0"}}));
  EXPECT_EQ(FindRecorded(sysfs_, "/sys", {"class/none*"}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::probes
