#include "sdk/claims/cdi_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::sdk {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kDriver = "fpga.example.com";
constexpr std::string_view kUid = "0f8fad5b-d9cb";

TEST(CdiSpec, HoldsADeviceForEachDeviceOfTheClaim) {
  const ClaimEdits edits{
      {{"fpga-0",
        {.env = {"FPGA=0"},
         .device_nodes = {{.path = "/dev/fpga0", .host_path = "/dev/fpga/0", .permissions = "rw"}},
         .mounts = {{.host_path = "/opt/fpga", .container_path = "/fpga", .options = {"ro"}}},
         .hooks = {{.name = "createContainer", .path = "/bin/true", .args = {"true"}}}}},
       {"fpga-1", {}}}};
  const auto expected = Json::Parse(R"({
    "cdiVersion": "0.5.0", "kind": "fpga.example.com/claim",
    "devices": [
      {"name": "0f8fad5b-d9cb-fpga-0", "containerEdits": {
        "env": ["FPGA=0"],
        "deviceNodes": [{"path": "/dev/fpga0", "hostPath": "/dev/fpga/0", "permissions": "rw"}],
        "mounts": [{"hostPath": "/opt/fpga", "containerPath": "/fpga", "options": ["ro"]}],
        "hooks": [{"hookName": "createContainer", "path": "/bin/true", "args": ["true"]}]}},
      {"name": "0f8fad5b-d9cb-fpga-1", "containerEdits": {}}]})");
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(MakeCdiSpec(kDriver, kUid, edits), *expected);
}

TEST(CdiSpec, IdsAndFilesBelongToTheClaim) {
  EXPECT_EQ(CdiId(kDriver, kUid, "fpga-0"), "fpga.example.com/claim=0f8fad5b-d9cb-fpga-0");
  EXPECT_EQ(CdiFileName(kDriver, kUid), "fpga.example.com-claim_0f8fad5b-d9cb.json");
}

TEST(CdiSpec, DevicesWithoutAClaimAreNamedByThemselves) {
  EXPECT_EQ(CdiDeviceId(kDriver, "fpga-0"), "fpga.example.com/device=fpga-0");
  EXPECT_EQ(CdiDeviceFileName(kDriver), "fpga.example.com-device.json");
  EXPECT_EQ(MakeCdiDeviceSpec(kDriver, {{"fpga-0", {.env = {"FPGA=0"}}}}),
            *Json::Parse(R"({"cdiVersion": "0.5.0", "kind": "fpga.example.com/device",
              "devices": [{"name": "fpga-0", "containerEdits": {"env": ["FPGA=0"]}}]})"));
}

TEST(CdiSpec, VendorsBeginWithALetter) {
  EXPECT_TRUE(IsCdiVendor("fpga.example.com"));
  EXPECT_FALSE(IsCdiVendor("3d.example.com"));
  EXPECT_FALSE(IsCdiVendor("fpga/x"));
  EXPECT_FALSE(IsCdiVendor(""));
}

TEST(CdiSpec, EditsThatARuntimeWouldRefuseAreNamed) {
  EXPECT_EQ(ValidateEdits({.env = {"A=1", "B="}}), OkStatus());
  EXPECT_THAT(ValidateEdits({.env = {"NOTHING"}}).message(), HasSubstr("NAME=value"));
  EXPECT_THAT(ValidateEdits({.env = {"=x"}}).message(), HasSubstr("NAME=value"));
  EXPECT_THAT(ValidateEdits({.device_nodes = {{.path = "dev/x"}}}).message(),
              HasSubstr("device node \"dev/x\" is no absolute path"));
  EXPECT_THAT(ValidateEdits({.device_nodes = {{.path = "/dev/x", .permissions = "rwx"}}}).message(),
              HasSubstr("\"rwx\""));
  EXPECT_THAT(ValidateEdits({.mounts = {{.host_path = "/a", .container_path = "b"}}}).message(),
              HasSubstr("mount \"b\""));
  EXPECT_THAT(ValidateEdits({.mounts = {{.host_path = "a", .container_path = "/b"}}}).message(),
              HasSubstr("mount \"a\""));
  EXPECT_THAT(ValidateEdits({.hooks = {{.name = "preboot", .path = "/a"}}}).message(),
              HasSubstr("\"preboot\" is none of prestart"));
}

}  // namespace
}  // namespace galen::sdk
