#include "doctor/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string FaultOf(std::string_view text) {
  const StatusOr<Expectations> read = ReadExpectations(text);
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << text;
  return std::string(read.status().message());
}

TEST(Expectations, NameDevicesAndTheirFirmware) {
  const StatusOr<Expectations> read = ReadExpectations(R"(
devices:
- {model: NVIDIA H100 80GB HBM3, driver: gpu.example.com, count: 8}
- {pci: "15b3:1021", count: 2, addresses: ["0000:1a:00.0", "0000:3c:00.0"]}
firmware:
- {files: class/infiniband/mlx5_*/fw_ver, versions: [28.39.1002]}
- {driver: gpu.example.com, attribute: vbios, versions: ["96.00.99.00.01", "96.00.A5.00.01"]}
)");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_THAT(read->devices, SizeIs(2));
  EXPECT_EQ(read->devices[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(read->devices[0].count, 8);
  EXPECT_THAT(read->devices[1].addresses, ElementsAre("0000:1a:00.0", "0000:3c:00.0"));
  ASSERT_THAT(read->firmware, SizeIs(2));
  EXPECT_THAT(read->firmware[0].versions, ElementsAre("28.39.1002"));
  EXPECT_EQ(read->firmware[1].attribute, "vbios");
}

TEST(Expectations, WhatIsWrongInARowIsSaidWithItsPlace) {
  EXPECT_THAT(FaultOf("devices: [{count: 8}]"), HasSubstr("devices[0]: needs one of model"));
  EXPECT_THAT(FaultOf("devices: [{model: A, pci: '10de:2330', count: 8}]"),
              HasSubstr("needs one of model and pci"));
  EXPECT_THAT(FaultOf("devices: [{pci: 10DE:2330, count: 8}]"), HasSubstr("pci is not like"));
  EXPECT_THAT(FaultOf("devices: [{model: A}]"), HasSubstr("needs count"));
  EXPECT_THAT(FaultOf("firmware: [{files: a, versions: [1.10]}]"), HasSubstr("put it in quotes"));
  EXPECT_THAT(FaultOf("firmware: [{files: /etc/passwd, versions: [a]}]"),
              HasSubstr("is not a path below /sys"));
  EXPECT_THAT(FaultOf("firmware: [{files: ../etc/passwd, versions: [a]}]"),
              HasSubstr("is not a path below /sys"));
  EXPECT_THAT(FaultOf("firmware: [{attribute: a, versions: [a]}]"), HasSubstr("needs driver"));
  EXPECT_THAT(FaultOf("firmware: [{files: a}]"), HasSubstr("needs versions"));
}

TEST(Expectations, AMemberThatNobodyKnowsIsRefused) {
  EXPECT_THAT(FaultOf("device: []"), HasSubstr("'device' is none of devices, firmware"));
  EXPECT_THAT(FaultOf("devices: [{modell: A, count: 1}]"), HasSubstr("'modell' is none of"));
}

TEST(Expectations, WhatIsNoListIsRefusedAndNotTakenForAnEmptyOne) {
  EXPECT_THAT(FaultOf("devices: {pci: '10de:2330', count: 8}\n"
                      "firmware: [{files: a, versions: [b]}]"),
              HasSubstr("devices is no list"));
  EXPECT_THAT(FaultOf("devices: [{pci: '10de:2330', count: 8, addresses: '0000:4b:00.0'}]"),
              HasSubstr("devices[0]: addresses is no list"));
  EXPECT_THAT(FaultOf("firmware:"), HasSubstr("firmware is no list"));
}

TEST(Expectations, AFileThatExpectsNothingIsAMistake) {
  EXPECT_THAT(FaultOf(""), HasSubstr("expects nothing"));
  EXPECT_THAT(FaultOf("devices: []"), HasSubstr("expects nothing"));
}

}  // namespace
}  // namespace galen::doctor
