#include "cli/demo/simulated_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::cli {
namespace {

using ::testing::HasSubstr;

const SimulatedDriver kGpu{
    "gpu.example.com", "/gpu.sock", {"gpu-0", "gpu-1"}, {"xid", "temperature"}};
const SimulatedDriver kFpga{"fpga.example.com", "/fpga.sock", {"fpga-0", "gpu-1"}, {"link"}};

TEST(SimulatedDriver, TheOnlyOneNeedsNoName) {
  EXPECT_EQ(ChooseDriver({kGpu}, "", {})->name, "gpu.example.com");
  EXPECT_EQ(ChooseDriver({kGpu}, "gpu-1", {})->socket, "/gpu.sock");
}

TEST(SimulatedDriver, OfSeveralTheOneThatHasTheDeviceIsMeant) {
  EXPECT_EQ(ChooseDriver({kGpu, kFpga}, "gpu-0", {})->name, "gpu.example.com");
  EXPECT_EQ(ChooseDriver({kGpu, kFpga}, "fpga-0", {})->name, "fpga.example.com");
}

TEST(SimulatedDriver, AsksWhichWhereSeveralCouldBeMeant) {
  for (const std::string device : {"", "gpu-1"}) {
    const Status fault = ChooseDriver({kGpu, kFpga}, device, {}).status();
    EXPECT_EQ(fault.code(), Code::kInvalidArgument);
    EXPECT_THAT(fault.message(), HasSubstr("gpu.example.com, fpga.example.com"));
    EXPECT_THAT(fault.message(), HasSubstr("--driver"));
  }
}

TEST(SimulatedDriver, SaysThatTheDriverOfADeviceIsGone) {
  const std::vector<SilentDevice> silent = {
      {"nic.example.com", "eth0", ""},
      {"gpu.example.com", "gpu-0", "driver gpu.example.com is gone: hung up"}};
  for (const std::string device : {"gpu-0", ""}) {
    const Status fault = ChooseDriver({}, device, silent).status();
    EXPECT_EQ(fault.code(), Code::kNotFound);
    EXPECT_EQ(fault.message(), "driver gpu.example.com is gone: hung up; start it, then try again");
  }
  EXPECT_THAT(ChooseDriver({kGpu}, "eth0", silent).status().message(),
              HasSubstr("eth0 is real: it belongs to driver nic.example.com"));
}

TEST(SimulatedDriver, CallsNoDeviceRealWhoseDriverDoesNotSay) {
  const std::vector<SilentDevice> silent = {
      {"gpu.example.com", "gpu-0", "driver gpu.example.com does not say", "look at its log"}};
  EXPECT_EQ(ChooseDriver({kFpga}, "gpu-0", silent).status().message(),
            "driver gpu.example.com does not say; look at its log, then try again");
}

TEST(SimulatedDriver, NamesTheDevicesThatThereAre) {
  EXPECT_THAT(ChooseDriver({kGpu}, "gpu-9", {}).status().message(),
              HasSubstr("gpu-9; gpu.example.com has gpu-0, gpu-1"));
  EXPECT_EQ(ChooseDriver({kGpu}, "gpu-9", {}).status().code(), Code::kInvalidArgument);
  EXPECT_THAT(ChooseDriver({}, "", {}).status().message(), HasSubstr("no driver of this node"));
  EXPECT_EQ(ChooseDriver({}, "", {}).status().code(), Code::kNotFound);
}

TEST(SimulatedDriver, SaysInOneShortLineThatThereIsNoSuchSign) {
  EXPECT_TRUE(CheckSign(kGpu, "xid").ok());
  const Status fault = CheckSign(kGpu, "frob");
  EXPECT_EQ(fault.code(), Code::kInvalidArgument);
  EXPECT_EQ(fault.message(),
            "gpu.example.com knows no sign 'frob': `galen inject` lists those there are");
}

}  // namespace
}  // namespace galen::cli
