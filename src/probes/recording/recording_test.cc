#include "probes/recording/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Recording, DevicesAreReadAsTheyWereWritten) {
  const std::vector<RecordedDevice> devices = {
      {"gpu-0", "bus/pci/devices/0000:4b:00.0", "10de:2330", {"0000:4b:00.0"}},
      {"nvme0", "class/nvme/nvme0", "", {"nvme:nvme0", "0000:01:00.0"}}};
  const auto read = ReadRecordedDevices(WriteRecordedDevices(devices));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, devices);
  EXPECT_THAT(ReadRecordedDevices("x: 1\n").status().message(), HasSubstr("names no devices"));
  EXPECT_FALSE(ReadRecordedDevices("{").ok());
}

TEST(Recording, SignsAreReadAsTheyWereWritten) {
  const std::vector<Sign> signs = {
      {.device = "gpu-0", .name = "temperature", .value = 41.5, .unit = "°C", .expected = 85.0},
      {.device = "gpu-0", .name = "reset", .value = "gpu", .raw = "nvml: reset"},
      {.device = "*", .name = "driver", .value = "570", .expected_text = "580"},
      {.device = "gpu-1", .name = "power", .error = "no answer for 5 s"},
      {.device = "gpu-1", .name = "fan", .detail = "slow", .absent = true}};
  const auto read = ReadSigns(WriteSigns(signs));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, signs);
  EXPECT_FALSE(ReadSigns("{}").ok());
}

TEST(Recording, ASignByHandIsReadWholeOrNotAtAll) {
  const auto fault = [](std::string_view text) {
    return std::string(ReadSigns(text).status().message());
  };
  EXPECT_EQ(fault(R"([{"device": "gpu-0", "name": "power", "value": 1}, {"name": "power"}])"),
            "sign 2: has no device");
  EXPECT_THAT(fault(R"([{"device": "gpu-0", "sign": "power", "value": 1}])"),
              HasSubstr("sign 1: has an unknown field sign; these are known: device, name"));
  EXPECT_EQ(fault(R"([{"device": "gpu-0", "name": "power"}])"),
            "sign 1: power of gpu-0 has no value that is a number or a text");
  EXPECT_EQ(fault(R"(["power"])"), "sign 1: is no object");
}

TEST(Recording, WhatAPersonLeavesOutOfADeviceIsNotThere) {
  const auto devices = ReadRecordedDevices("devices:\n  a: {}\n  b: {path: 7, kernelNames: x}\n");
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_EQ(*devices, (std::vector<RecordedDevice>{{.name = "a"}, {.name = "b"}}));
}

TEST(Recording, ANumberAndAnExpectationOfZeroAreKept) {
  const std::vector<Sign> signs = {{.device = "a", .name = "x", .value = 0.0, .expected = 0.0},
                                   {.device = "a", .name = "y", .value = ""}};
  const auto read = ReadSigns(WriteSigns(signs));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, signs) << "no expectation would be another thing";
  EXPECT_EQ(*ReadSigns(WriteSigns({})), std::vector<Sign>{});
}

TEST(Recording, NamesOfDevicesThatYamlWouldReadAsSomethingElseStayText) {
  const std::vector<RecordedDevice> devices = {{.name = "0000:4b:00.0", .model = "0x10de"},
                                               {.name = "7", .path = "true"},
                                               {.name = "no", .kernel_names = {"1:2"}}};
  const auto read = ReadRecordedDevices(WriteRecordedDevices(devices));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, devices);
}

TEST(Recording, AStepsNameIsReadAsTheTimeItIsNamedBy) {
  for (const Duration at : {Duration(0s), Duration(100ms), Duration(12500ms), Duration(90min),
                            Duration(24h), Duration(86399999ms)}) {
    EXPECT_EQ(*ParseDuration(StepName(at)), at) << StepName(at);
  }
}

TEST(Recording, AStepIsNamedByItsTime) {
  EXPECT_EQ(StepName(0s), "0s");
  EXPECT_EQ(StepName(12500ms), "12.5s");
  EXPECT_EQ(StepName(24h), "86400s");
}

}  // namespace
}  // namespace galen::probes
