#include "alloc/objects/resource_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::alloc {
namespace {

using ::testing::HasSubstr;

Json JsonOf(std::string_view text) { return Json::Parse(text).value(); }

TEST(ResourceClaim, IsReadWhole) {
  const auto claim = ReadResourceClaim(JsonOf(R"({
    "metadata": {"namespace": "ns", "name": "c", "uid": "u"},
    "spec": {"devices": {
      "requests": [
        {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2,
          "adminAccess": true, "selectors": [{"cel": {"expression": "true"}}, {"future": {}}],
          "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
          "capacity": {"requests": {"memory": "1Gi"}}}},
        {"name": "s", "firstAvailable": [{"name": "a", "deviceClassName": "x", "allocationMode": "All"},
                                         {"name": "b", "deviceClassName": "y", "allocationMode": "Odd"}]}],
      "constraints": [{"requests": ["r"], "matchAttribute": "d/x"}, {"distinctAttribute": "d/y"}],
      "config": [{"requests": ["r"], "opaque": {"driver": "d"}}]}}})"));
  ASSERT_TRUE(claim.ok()) << ToString(claim.status());
  EXPECT_EQ(ToString(*claim), "ns/c");
  EXPECT_EQ(claim->uid, "u");
  ASSERT_EQ(claim->requests.size(), 2u);
  const DeviceWish& exactly = claim->requests[0].wishes.at(0);
  EXPECT_FALSE(claim->requests[0].first_available);
  EXPECT_EQ(exactly.mode, DeviceWish::Mode::kExactCount);
  EXPECT_EQ(exactly.count, 2);
  EXPECT_EQ(exactly.admin_access, true);
  EXPECT_EQ(exactly.selectors, (std::vector<DeviceSelector>{"true", std::nullopt}));
  EXPECT_EQ(exactly.tolerations.at(0).op, DeviceToleration::Operator::kExists);
  EXPECT_EQ(exactly.capacity, (NamedQuantities{{"memory", Quantity::Parse("1Gi").value()}}));
  EXPECT_TRUE(claim->requests[1].first_available);
  EXPECT_EQ(claim->requests[1].wishes.at(0).mode, DeviceWish::Mode::kAll);
  EXPECT_EQ(claim->requests[1].wishes.at(1).mode, DeviceWish::Mode::kUnknown);
  EXPECT_FALSE(claim->requests[1].wishes.at(1).capacity);
  EXPECT_EQ(claim->constraints[0].match_attribute, "d/x");
  EXPECT_EQ(claim->constraints[1].distinct_attribute, "d/y");
  EXPECT_EQ(claim->config.at(0).configuration, JsonOf(R"({"opaque": {"driver": "d"}})"));
  EXPECT_FALSE(claim->allocation);
}

TEST(ResourceClaim, NamesWhatCannotBeRead) {
  const auto claim = [](std::string_view requests) {
    return ReadResourceClaim(JsonOf(
        std::string(
            R"({"metadata": {"namespace": "ns", "name": "c"}, "spec": {"devices": {"requests": )") +
        std::string(requests) + "}}}"));
  };
  EXPECT_THAT(claim(R"([{"name": "r"}])").status().message(),
              HasSubstr("ResourceClaim ns/c: spec.devices.requests[r]: has neither"));
  EXPECT_THAT(claim(R"([{"name": "r", "exactly": {"capacity": {"requests": {"m": "x"}}}}])")
                  .status()
                  .message(),
              HasSubstr("requests[r]: exactly: capacity.requests: [m]"));
  EXPECT_THAT(
      claim(
          R"([{"name": "r", "firstAvailable": [{"name": "a", "capacity": {"requests": {"m": "x"}}}]}])")
          .status()
          .message(),
      HasSubstr("firstAvailable[a]"));
}

TEST(ResourceClaim, GetsTheDefaultsOfTheApi) {
  auto claim = ReadResourceClaim(JsonOf(
      R"({"spec": {"devices": {"requests": [{"name": "r", "exactly": {}},
          {"name": "s", "exactly": {"allocationMode": "All"}}]}}})"));
  const ResourceClaim full = WithDefaults(*claim);
  EXPECT_EQ(full.requests[0].wishes[0].mode, DeviceWish::Mode::kExactCount);
  EXPECT_EQ(full.requests[0].wishes[0].count, 1);
  EXPECT_EQ(full.requests[1].wishes[0].count, 0);
}

TEST(Allocation, ReadsWhatItWrites) {
  const Json written = JsonOf(R"({
    "devices": {"results": [{"request": "r/a", "driver": "d", "pool": "p", "device": "x", "adminAccess": true,
        "tolerations": [{"operator": "Exists", "tolerationSeconds": 5}], "bindingConditions": ["R"],
        "bindingFailureConditions": ["F"], "shareID": "id", "consumedCapacity": {"memory": "1Gi"},
        "skipNodeOperations": ["Prepare"]}],
      "config": [{"source": "FromClass", "requests": ["r"], "opaque": {"driver": "d"}},
                 {"source": "FromClaim", "opaque": {"driver": "d"}}]},
    "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}})");
  const auto allocation = ReadAllocation(written);
  ASSERT_TRUE(allocation.ok());
  EXPECT_EQ(WriteAllocation(*allocation), written);
  EXPECT_EQ(ReadAllocation(Json())->devices.size(), 0u);
  EXPECT_FALSE(
      ReadAllocation(JsonOf(R"({"devices": {"results": [{"consumedCapacity": {"m": "x"}}]}})"))
          .ok());
}

TEST(Toleration, MatchesByEffectKeyAndValue) {
  using Operator = DeviceToleration::Operator;
  const DeviceTaint taint{.key = "k", .value = "v", .effect = TaintEffect::kNoExecute};
  EXPECT_TRUE(Tolerates({.key = "k", .value = "v"}, taint));
  EXPECT_FALSE(Tolerates({.key = "k"}, taint)) << "Equal compares the value, an empty one, too";
  EXPECT_TRUE(Tolerates({.key = "k", .op = Operator::kExists}, taint));
  EXPECT_TRUE(Tolerates({.op = Operator::kExists}, taint));
  EXPECT_FALSE(Tolerates({.key = "other", .op = Operator::kExists}, taint));
  EXPECT_FALSE(Tolerates({.op = Operator::kExists, .effect = "NoSchedule"}, taint));
  EXPECT_TRUE(Tolerates({.op = Operator::kExists, .effect = "NoExecute"}, taint));
  EXPECT_FALSE(Tolerates({.key = "k", .op = Operator::kUnknown, .value = "v"}, taint));
}

TEST(DeviceClass, IsRead) {
  const DeviceClass read = ReadDeviceClass(JsonOf(
      R"({"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "true"}}],
          "config": [{"opaque": {}}], "extendedResourceName": "example.com/gpu"}})"));
  EXPECT_EQ(read, (DeviceClass{"gpu", {"true"}, {JsonOf(R"({"opaque": {}})")}, "example.com/gpu"}));
}

}  // namespace
}  // namespace galen::alloc
