#include "sdk/plugin/device_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "model/cdi_spec.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kEditsFile[] = "/cdi/fpga.example.com-device.json";

class DeviceEditsTest : public ::testing::Test {
 protected:
  // The names of the devices in the file, as a container runtime reads it.
  std::vector<std::string> InFile() {
    const auto text = files_.Read(kEditsFile);
    if (!text.ok()) return {"no file"};
    const CdiSpec spec = ReadCdiSpec(kEditsFile, *text);
    EXPECT_EQ(spec.unreadable, "");
    EXPECT_THAT(spec.faults, IsEmpty());
    EXPECT_EQ(spec.kind, "fpga.example.com/device");
    return spec.devices;
  }

  FakeFileSystem files_;
  std::map<std::string, DeviceEdits> answers_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [] { return WallTime{}; },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  PluginDeviceEdits edits_{files_, log_, "/cdi", "fpga.example.com",
                           [this](const std::string& device) { return answers_[device]; }};
};

TEST_F(DeviceEditsTest, AFileHasEveryDeviceThatBringsSomething) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA_0=1"}};
  answers_["fpga-1"] = CdiEdits{.device_nodes = {{.path = "/dev/fpga1"}}};
  answers_["fpga-2"] = CdiEdits{};
  ASSERT_EQ(edits_.SetDevices({"fpga-0", "fpga-1", "fpga-2"}), OkStatus());
  EXPECT_THAT(InFile(), ElementsAre("fpga-0", "fpga-1"));
  EXPECT_THAT(*edits_.NamesFor({"fpga-1", "fpga-2"}),
              ElementsAre("fpga.example.com/device=fpga-1"));
}

TEST_F(DeviceEditsTest, WhatADeviceBringsIsAskedForWhenItIsGiven) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=old"}};
  ASSERT_EQ(edits_.SetDevices({"fpga-0"}), OkStatus());
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=new"}};
  ASSERT_TRUE(edits_.NamesFor({"fpga-0"}).ok());
  EXPECT_THAT(*files_.Read(kEditsFile), HasSubstr("FPGA=new"));
}

TEST_F(DeviceEditsTest, ADeviceThatCannotBeHadNowKeepsWhatItHad) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=0"}};
  answers_["fpga-1"] = CdiEdits{.env = {"FPGA=1"}};
  ASSERT_EQ(edits_.SetDevices({"fpga-0", "fpga-1"}), OkStatus());
  answers_["fpga-0"] = Failure{"the firmware is being flashed"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(edits_.SetDevices({"fpga-0", "fpga-1"}).code(), Code::kUnavailable);
  }
  EXPECT_EQ(lines_.size(), 1u) << "said once";
  EXPECT_THAT(InFile(), ElementsAre("fpga-0", "fpga-1"));
  const auto names = edits_.NamesFor({"fpga-1", "fpga-0"});
  EXPECT_EQ(names.status().code(), Code::kUnavailable);
  EXPECT_THAT(names.status().message(), HasSubstr("fpga-0: the firmware is being flashed"));
}

TEST_F(DeviceEditsTest, AProcessThatCannotAnswerYetKeepsTheFileOfTheOneBefore) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=0"}};
  answers_["fpga-1"] = CdiEdits{.env = {"FPGA=1"}};
  ASSERT_EQ(edits_.SetDevices({"fpga-0", "fpga-1"}), OkStatus());
  const std::string before = *files_.Read(kEditsFile);
  PluginDeviceEdits next{files_, NullLog(), "/cdi", "fpga.example.com",
                         [this](const std::string& device) { return answers_[device]; }};
  answers_["fpga-0"] = answers_["fpga-1"] = Failure{"the module is old"};
  EXPECT_EQ(next.SetDevices({"fpga-0", "fpga-1"}).code(), Code::kUnavailable);
  EXPECT_EQ(*files_.Read(kEditsFile), before);
  answers_["fpga-1"] = CdiEdits{.env = {"FPGA=one"}};
  ASSERT_TRUE(next.NamesFor({"fpga-1"}).ok());
  EXPECT_THAT(InFile(), ElementsAre("fpga-1", "fpga-0")) << "the other is still there";
  EXPECT_THAT(*files_.Read(kEditsFile), HasSubstr("FPGA=one"));
  answers_["fpga-0"] = CdiEdits{};
  EXPECT_EQ(next.SetDevices({"fpga-0", "fpga-1"}), OkStatus());
  EXPECT_THAT(InFile(), ElementsAre("fpga-1")) << "it brings nothing any more";
}

TEST_F(DeviceEditsTest, EditsThatARuntimeWouldRefuseAreNotWritten) {
  answers_["fpga-0"] = CdiEdits{.device_nodes = {{.path = "dev/fpga0"}}};
  ASSERT_EQ(edits_.SetDevices({"fpga-0"}), OkStatus());
  EXPECT_THAT(InFile(), ElementsAre("no file"));
  EXPECT_THAT(edits_.NamesFor({"fpga-0"}).status().message(),
              HasSubstr("CDI edits of device fpga-0: device node \"dev/fpga0\""));
}

TEST_F(DeviceEditsTest, DevicesThatAreGoneLeaveTheFileAndTheLastTakesItAlong) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=0"}};
  answers_["fpga-1"] = CdiEdits{.env = {"FPGA=1"}};
  ASSERT_EQ(edits_.SetDevices({"fpga-0", "fpga-1"}), OkStatus());
  ASSERT_EQ(edits_.SetDevices({"fpga-1"}), OkStatus());
  EXPECT_THAT(InFile(), ElementsAre("fpga-1"));
  ASSERT_EQ(edits_.SetDevices({}), OkStatus());
  EXPECT_THAT(InFile(), ElementsAre("no file"));
}

TEST_F(DeviceEditsTest, TheSameIsWrittenOnce) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=0"}};
  ASSERT_EQ(edits_.SetDevices({"fpga-0"}), OkStatus());
  const auto writes = files_.writes();
  ASSERT_EQ(edits_.SetDevices({"fpga-0"}), OkStatus());
  ASSERT_TRUE(edits_.NamesFor({"fpga-0"}).ok());
  EXPECT_EQ(files_.writes(), writes);
}

TEST_F(DeviceEditsTest, ADiskThatIsFullGivesNothingOut) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=0"}};
  files_.FailWrites(ResourceExhausted("no space left on device"));
  EXPECT_EQ(edits_.SetDevices({"fpga-0"}).code(), Code::kResourceExhausted);
  EXPECT_EQ(edits_.NamesFor({"fpga-0"}).status().code(), Code::kResourceExhausted);
}

TEST_F(DeviceEditsTest, WhatACrashLeftOfAWriteGoes) {
  answers_["fpga-0"] = CdiEdits{.env = {"FPGA=0"}};
  ASSERT_EQ(files_.MakeDirectories("/cdi", 0755), OkStatus());
  ASSERT_EQ(files_.WriteAtomically(std::string(kEditsFile) + ".tmp-Ab12Cd", "{", 0644), OkStatus());
  ASSERT_EQ(edits_.SetDevices({"fpga-0"}), OkStatus());
  EXPECT_THAT(*files_.List("/cdi"), ElementsAre("fpga.example.com-device.json"));
}

TEST_F(DeviceEditsTest, WithoutAHandlerContainersGetNothing) {
  PluginDeviceEdits none(files_, NullLog(), "/cdi", "fpga.example.com", nullptr);
  ASSERT_EQ(none.SetDevices({"fpga-0"}), OkStatus());
  EXPECT_THAT(*none.NamesFor({"fpga-0"}), IsEmpty());
  EXPECT_THAT(InFile(), ElementsAre("no file"));
}

}  // namespace
}  // namespace galen::sdk
