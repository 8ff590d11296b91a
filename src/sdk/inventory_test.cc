#include "sdk/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::sdk {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string FaultOfDevice(const Device& device) { return ValidateInventory({device}).message(); }

TEST(Inventory, OfOrdinaryDevicesIsTaken) {
  EXPECT_EQ(
      ValidateInventory({{.name = "fpga-0",
                          .attributes = {{"model", "U250"},
                                         {"ports", 2},
                                         {"resource.example.com/numa_node", 1},
                                         {"firmware", VersionAttribute{"1.2.3"}},
                                         {"boot", true}},
                          .capacity = {{"memory", "16Gi"}, {"slices", "7"}, {"rate", "1.5e3"}},
                          .taints = {{.key = "fpga.example.com/flashing", .value = "yes"}}}}),
      OkStatus());
  EXPECT_EQ(ValidateInventory({}), OkStatus());
}

TEST(Inventory, TellsEveryFaultAtOnce) {
  const Status status = ValidateInventory({{.name = "Card 0"},
                                           {.name = "fpga-0"},
                                           {.name = "fpga-0"},
                                           {.name = "fpga-1", .capacity = {{"memory", "16 GB"}}}});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("\"Card 0\""), HasSubstr("device fpga-0 is listed twice"),
                    HasSubstr("capacity memory is \"16 GB\"")));
}

TEST(Inventory, RefusesWhatKubernetesWouldRefuse) {
  EXPECT_THAT(FaultOfDevice({.name = std::string(64, 'a')}), HasSubstr("no DNS label"));
  EXPECT_THAT(FaultOfDevice({.name = "a", .attributes = {{"9lives", true}}}),
              HasSubstr("\"9lives\""));
  EXPECT_THAT(FaultOfDevice({.name = "a", .attributes = {{std::string(33, 'x'), true}}}),
              HasSubstr("attribute"));
  EXPECT_THAT(FaultOfDevice({.name = "a", .attributes = {{"Not A Domain/x", true}}}),
              HasSubstr("Not A Domain/x"));
  EXPECT_THAT(FaultOfDevice({.name = "a", .attributes = {{"model", std::string(65, 'm')}}}),
              HasSubstr("65 bytes, at most 64"));
  EXPECT_THAT(FaultOfDevice({.name = "a", .offered = Device::Offered::kWhereTaintsCount}),
              HasSubstr("only where taints are kept, but has no taints"));
  EXPECT_THAT(FaultOfDevice({.name = "a", .taints = {{.key = "bad key"}}}),
              HasSubstr("\"bad key\""));
  EXPECT_THAT(
      FaultOfDevice({.name = "a", .taints = {{.key = "example.com/x", .value = "no value"}}}),
      HasSubstr("no label value"));
  EXPECT_THAT(
      FaultOfDevice({.name = "a", .taints = std::vector<Taint>(17, {.key = "example.com/x"})}),
      HasSubstr("17 taints"));
}

TEST(Inventory, CountsAttributesAndCapacitiesTogether) {
  Device device{.name = "a"};
  for (int i = 0; i < 16; ++i) {
    device.attributes["a" + std::to_string(i)] = i;
    device.capacity["c" + std::to_string(i)] = "1";
  }
  EXPECT_EQ(ValidateInventory({device}), OkStatus());
  device.capacity["one_more"] = "1";
  EXPECT_THAT(FaultOfDevice(device), HasSubstr("33 attributes and capacities"));
}

TEST(Inventory, IsBoundedInDevicesAndInWhatItSaysAboutThem) {
  EXPECT_THAT(ValidateInventory(Inventory(kDevicesMax + 1, {.name = "a"})).message(),
              AllOf(HasSubstr("4097 devices"), HasSubstr("more faults")));
  EXPECT_LT(ValidateInventory(Inventory(kDevicesMax + 1, {.name = "a"})).message().size(), 4096u);
}

TEST(Inventory, BecomesASlicesDevice) {
  const kube::SliceDevice device =
      ToSliceDevice({.name = "fpga-0",
                     .attributes = {{"model", "U250"}, {"fw", VersionAttribute{"1.0.0"}}, {"n", 3}},
                     .capacity = {{"memory", "16Gi"}},
                     .taints = {{.key = "example.com/x", .effect = Taint::Effect::kNoExecute}},
                     .allow_multiple_allocations = true});
  EXPECT_TRUE(device.allow_multiple_allocations);
  EXPECT_EQ(device.name, "fpga-0");
  EXPECT_EQ(device.attributes.at("model"), kube::AttributeValue("U250"));
  EXPECT_EQ(device.attributes.at("fw"), kube::AttributeValue(kube::Version{"1.0.0"}));
  EXPECT_EQ(device.attributes.at("n"), kube::AttributeValue(std::int64_t{3}));
  EXPECT_EQ(device.capacity.at("memory"), "16Gi");
  ASSERT_EQ(device.taints.size(), 1u);
  EXPECT_EQ(device.taints[0].effect, TaintEffect::kNoExecute);
}

}  // namespace
}  // namespace galen::sdk
