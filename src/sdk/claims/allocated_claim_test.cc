#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/claims/claim_preparer.h"

namespace galen::sdk {
namespace {

using ::testing::HasSubstr;

const ClaimRef kClaim{.ns = "train", .name = "trainer-0-fpga", .uid = "uid-1"};

StatusOr<DeviceClaim> Read(const Json& object) {
  return ReadAllocation(object, kClaim, "fpga.example.com", "node-7");
}

Json Allocated() {
  return *Json::Parse(R"({
    "metadata": {"namespace": "train", "name": "trainer-0-fpga", "uid": "uid-1"},
    "status": {"allocation": {"devices": {
      "results": [
        {"request": "fpga/big", "driver": "fpga.example.com", "pool": "node-7", "device": "fpga-0"},
        {"request": "nic", "driver": "nic.example.com", "pool": "node-7", "device": "nic-0"},
        {"request": "look", "driver": "fpga.example.com", "pool": "node-7", "device": "fpga-1",
         "adminAccess": true, "shareID": "s-1"}],
      "config": [
        {"source": "FromClass", "opaque": {"driver": "fpga.example.com", "parameters": {"mode": "safe"}}},
        {"source": "FromClaim", "requests": ["nic"],
         "opaque": {"driver": "nic.example.com", "parameters": {}}},
        {"source": "FromClaim", "requests": ["fpga"],
         "opaque": {"driver": "fpga.example.com", "parameters": {"mode": "fast"}}}]}}}})");
}

TEST(ReadAllocation, KeepsOnlyTheDriversOwn) {
  const auto claim = Read(Allocated());
  ASSERT_TRUE(claim.ok()) << ToString(claim.status());
  EXPECT_EQ(
      *claim,
      (DeviceClaim{
          .ns = "train",
          .name = "trainer-0-fpga",
          .uid = "uid-1",
          .devices =
              {{.device = "fpga-0", .request = "fpga", .share_id = ""},
               {.device = "fpga-1", .request = "look", .share_id = "s-1", .admin_access = true}},
          .configs = {{.parameters = R"({"mode":"safe"})", .requests = {}, .from_class = true},
                      {.parameters = R"({"mode":"fast"})", .requests = {"fpga"}}}}));
}

TEST(ReadAllocation, RefusesAnotherClaimOfTheSameName) {
  Json object = Allocated();
  object["metadata"]["uid"] = "uid-2";
  EXPECT_EQ(Read(object).status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(Read(object).status().message(), HasSubstr("was replaced"));
}

TEST(ReadAllocation, RefusesAClaimThatIsNotAllocated) {
  Json object = Allocated();
  object["status"] = Json();
  EXPECT_THAT(Read(object).status().message(), HasSubstr("is not allocated"));
}

TEST(ReadAllocation, RefusesADeviceOfAnotherPool) {
  Json object = Allocated();
  object["status"]["allocation"]["devices"]["results"].MutableItems()[0]["pool"] = "node-8";
  EXPECT_THAT(Read(object).status().message(),
              HasSubstr("pool node-8, this node publishes node-7"));
}

}  // namespace
}  // namespace galen::sdk
