#include "probes/sysfs/device_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class DeviceLookTest : public ::testing::Test {
 protected:
  SignReading Read(FileSource source, std::optional<double> most = std::nullopt) {
    const SignSpec sign{.name = "s", .most = most, .file = std::move(source)};
    return LookAtDevice(files_, "/d", {&sign}, [](const auto&, const auto&) {}).readings.at(0);
  }
  void Write(const std::string& file, const std::string& text) {
    files_.files["/d/" + file] = text;
  }

  FakeSysfs files_;
};

TEST_F(DeviceLookTest, ReadsTheFirstLineOrTheNamedRow) {
  Write("width", "16\n");
  Write("aer_dev_fatal", "DLP 1\nTLP 2\nTOTAL_ERR_FATAL 3\n");
  Write("umc_err_count", "ue: 4\nce: 5\n");
  EXPECT_EQ(Read({.path = "width"}).value, 16);
  EXPECT_EQ(Read({.path = "width/"}).value, 16);
  EXPECT_EQ(Read({.path = "aer_dev_fatal", .row = "TOTAL_ERR_FATAL"}).value, 3);
  EXPECT_EQ(Read({.path = "aer_dev_fatal", .row = "TOTAL"}), SignReading{.sign = "s"})
      << "a row is named by its whole name";
  EXPECT_EQ(Read({.path = "umc_err_count", .row = "ce"}).value, 5);
}

TEST_F(DeviceLookTest, UnderstandsHowTheKernelWritesNumbers) {
  EXPECT_EQ(*NumberInFile("16.0 GT/s PCIe\n", ""), 16);
  EXPECT_EQ(*NumberInFile("4: ACTIVE\n", ""), 4);
  EXPECT_EQ(*NumberInFile("0x1f\n", ""), 31);
  EXPECT_EQ(*NumberInFile("-5\n", ""), -5);
  EXPECT_EQ(*NumberInFile("Unknown speed\n", ""), std::nullopt) << "the kernel does not know";
  EXPECT_FALSE(NumberInFile("16GT\n", "").ok());
  EXPECT_FALSE(NumberInFile("", "").ok());
  EXPECT_FALSE(NumberInFile("inf\n", "").ok());
  EXPECT_FALSE(NumberInFile("\xff\xfe", "").ok());
}

TEST_F(DeviceLookTest, AWordIsTheNumberThatTheSignSays) {
  const FileSource state{.path = "state", .words = {{"live", 0}, {"deleting (no IO)", 2}, {"", 7}}};
  Write("state", "live\n");
  EXPECT_EQ(Read(state).value, 0);
  EXPECT_EQ(Read(state).raw, "state: live");
  Write("state", "deleting (no IO)\n");
  EXPECT_EQ(Read(state).value, 2);
  Write("state", "");
  EXPECT_EQ(Read(state).value, 7) << "a file may be empty while all is well";
  Write("state", "alive\n");
  EXPECT_EQ(Read(state).value, std::nullopt);
  EXPECT_EQ(Read(state).error, "state: 'alive' is not one of its words");
  Write("state", "unknown\n");
  EXPECT_EQ(Read(state), SignReading{.sign = "s"}) << "the kernel itself does not know";
  Write("mode", "Type: Boot\nInfo: 3\n");
  EXPECT_EQ(Read({.path = "mode", .row = "Type", .words = {{"Boot", 1}}}).value, 1);
}

TEST_F(DeviceLookTest, ScalesAValueAndWhatIsExpectedOfItAlike) {
  Write("hwmon/hwmon3/temp1_input", "91500\n");
  Write("hwmon/hwmon3/temp1_crit", "90000\n");
  const SignReading reading = Read({.path = "hwmon/hwmon*/temp*_input",
                                    .scale = 1.0 / 1000,
                                    .expected = "hwmon/hwmon*/temp*_crit"});
  EXPECT_EQ(reading.value, 91.5);
  EXPECT_EQ(reading.expected, 90);
  EXPECT_EQ(reading.raw, "hwmon/hwmon3/temp1_input: 91.5");
}

TEST_F(DeviceLookTest, OfSeveralSensorsTheOneNearestToItsLimitCounts) {
  Write("temp1_input", "90");
  Write("temp1_crit", "120");
  Write("temp2_input", "80");
  Write("temp2_crit", "85");
  Write("temp3_input", "119");  // has no limit
  const FileSource source{
      .path = "temp*_input", .expected = "temp*_crit", .several = Several::kHighest};
  EXPECT_EQ(Read(source).value, 80);
}

TEST_F(DeviceLookTest, AddsUpTheCountersOfAllParts) {
  Write("csrow0/ue_count", "2\n");
  Write("csrow1/ue_count", "3\n");
  const SignReading sum = Read({.path = "csrow*/ue_count", .several = Several::kSum});
  EXPECT_EQ(sum.value, 5);
  EXPECT_THAT(sum.parts, ElementsAre(Pair("csrow0/ue_count", 2), Pair("csrow1/ue_count", 3)));
}

TEST_F(DeviceLookTest, WhatIsMissingOrOutOfBoundsIsNoValueAndNoError) {
  Write("width", "255\n");
  const SignReading outside = Read({.path = "width"}, 32);
  EXPECT_EQ(outside.value, std::nullopt);
  EXPECT_EQ(outside.error, "");
  const SignReading missing = Read({.path = "none"});
  EXPECT_EQ(missing.value, std::nullopt);
  EXPECT_EQ(missing.error, "");
}

TEST_F(DeviceLookTest, AnExpectationOutOfBoundsIsNone) {
  Write("width", "8\n");
  Write("max", "255\n");
  EXPECT_EQ(Read({.path = "width", .expected = "max"}, 32).expected, std::nullopt);
}

TEST_F(DeviceLookTest, ALimitThatCannotBeReadMakesTheValueUnknownToo) {
  Write("temp1_input", "100");
  Write("temp1_crit", "garbage");
  Write("temp2_input", "40");
  Write("temp2_crit", "90");
  const SignReading reading =
      Read({.path = "temp*_input", .expected = "temp*_crit", .several = Several::kHighest});
  EXPECT_EQ(reading.value, std::nullopt) << "a cool sensor says nothing of a hot one";
  EXPECT_EQ(reading.error, "temp1_crit: 'garbage' is not a number");
}

TEST_F(DeviceLookTest, ALimitOfZeroIsOneThatNobodySet) {
  Write("temp1_input", "80");
  Write("temp1_crit", "100");
  Write("temp2_input", "45");
  Write("temp2_crit", "0");
  const FileSource source{
      .path = "temp*_input", .expected = "temp*_crit", .several = Several::kHighest};
  EXPECT_EQ(Read(source).value, 80);
  EXPECT_EQ(Read({.path = "temp2_input", .expected = "temp2_crit"}).expected, std::nullopt);
}

TEST_F(DeviceLookTest, GarbageAndARefusedReadAreErrorsThatNameTheFile) {
  Write("width", "sixteen\n");
  Write("broken", "");
  files_.errors["/d/broken"] = Unavailable("/d/broken: Input/output error");
  EXPECT_EQ(Read({.path = "width"}).error, "width: 'sixteen' is not a number");
  EXPECT_THAT(Read({.path = "broken"}).error, HasSubstr("/d/broken: Input/output error"));
}

TEST_F(DeviceLookTest, SaysBeforeEachReadWhatItReads) {
  Write("a", "1\n");
  Write("b", "2\n");
  std::vector<std::string> said;
  const std::vector<SignSpec> signs = {
      {.name = "s", .file = FileSource{.path = "a", .expected = "b"}}, {.name = "of-the-driver"}};
  LookAtDevice(
      files_, "/d", WithFiles(signs),
      [&](const std::string& sign, const std::string& file) { said.push_back(sign + " " + file); });
  EXPECT_THAT(said, ElementsAre("s a", "s b"));
}

TEST_F(DeviceLookTest, ADirectoryThatIsGoneHasNoReadings) {
  const SignSpec sign{.name = "s", .file = FileSource{"a"}};
  const DeviceLook look = LookAtDevice(files_, "/d", {&sign}, [](const auto&, const auto&) {});
  EXPECT_EQ(look, DeviceLook());
}

}  // namespace
}  // namespace galen::probes
