#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/health/health_merger.h"

namespace galen::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceId Offered(const std::string& device) { return {"gpu.vendor.example", "node-1", device}; }
DeviceId Probed(const std::string& device) { return {"gpu.vendor.example", "probe", device}; }
HardwareIds Uuid(const std::string& uuid) { return {.uuid = uuid}; }
HardwareIds Pci(const std::string& address) { return {.pci_address = address}; }

// "gpu-3=a", in order of the driver's devices.
std::string Found(const DeviceMatches& matches) {
  std::string text;
  for (const auto& [id, match] : matches.found) {
    text += (text.empty() ? "" : " ") + id.device + "=" + match.source.device;
    if (match.partition) text += "(part)";
  }
  return text;
}

TEST(DeviceMatch, NamesAreOfNoConcernUuidsAddressesAndSerialsAre) {
  const DeviceMatches matches = MatchDevices({{Offered("a"), Uuid("GPU-1")},
                                              {Offered("b"), Pci("0000:4b:00.0")},
                                              {Offered("c"), {.serial = "17"}}},
                                             {{Probed("c"), Uuid("GPU-1")},
                                              {Probed("a"), Pci("0000:4b:00.0")},
                                              {Probed("b"), {.serial = "17"}}});
  EXPECT_EQ(Found(matches), "a=c b=a c=b");
  EXPECT_THAT(matches.refused, IsEmpty());
}

TEST(DeviceMatch, WhatMatchesNothingIsLeftOut) {
  const DeviceMatches matches =
      MatchDevices({{Offered("a"), Uuid("GPU-1")}, {Offered("b"), {}}}, {{Probed("x"), {}}});
  EXPECT_EQ(matches, DeviceMatches{});
}

TEST(DeviceMatch, AUuidThatTwoOfTheDriversDevicesHaveDecidesNothingAndTheRestIsMatched) {
  const DeviceMatches matches = MatchDevices(
      {{Offered("a"), Uuid("GPU-1")}, {Offered("b"), Uuid("GPU-1")}, {Offered("c"), Uuid("GPU-2")}},
      {{Probed("x"), Uuid("GPU-1")}, {Probed("y"), Uuid("GPU-2")}});
  EXPECT_EQ(Found(matches), "c=y");
  EXPECT_THAT(matches.refused.at(Offered("a")),
              HasSubstr("UUID GPU-1 belongs to two devices in the driver's ResourceSlices"));
  EXPECT_TRUE(matches.refused.contains(Offered("b")));
}

TEST(DeviceMatch, AnAddressThatTwoOfTheSourcesDevicesHaveDecidesNothing) {
  const DeviceMatches matches =
      MatchDevices({{Offered("a"), Pci("0000:4b:00.0")}},
                   {{Probed("x"), Pci("0000:4b:00.0")}, {Probed("y"), Pci("0000:4b:00.0")}});
  EXPECT_EQ(Found(matches), "");
  EXPECT_THAT(matches.refused.at(Offered("a")), HasSubstr("of the health source"));
}

TEST(DeviceMatch, ASliceWhoseIdsLeadToTwoDevicesLies) {
  const DeviceMatches matches =
      MatchDevices({{Offered("a"), {.uuid = "GPU-1", .pci_address = "0000:4c:00.0"}}},
                   {{Probed("x"), {.uuid = "GPU-1", .pci_address = "0000:4b:00.0"}},
                    {Probed("y"), {.uuid = "GPU-2", .pci_address = "0000:4c:00.0"}}});
  EXPECT_EQ(Found(matches), "");
  EXPECT_THAT(matches.refused.at(Offered("a")), HasSubstr("its UUID is that of x"));
}

TEST(DeviceMatch, AnotherGpuInTheSameSlotIsAnotherDevice) {
  const DeviceMatches matches =
      MatchDevices({{Offered("a"), {.uuid = "GPU-old", .pci_address = "0000:4b:00.0"}}},
                   {{Probed("x"), {.uuid = "GPU-new", .pci_address = "0000:4b:00.0"}}});
  EXPECT_EQ(Found(matches), "");
  EXPECT_THAT(matches.refused.at(Offered("a")), HasSubstr("its UUID is GPU-old"));
}

TEST(DeviceMatch, PartitionsGoWithTheirParentHoweverManyThereAre) {
  const HardwareIds part{.uuid = "MIG-1",
                         .pci_address = "0000:4b:00.0",
                         .serial = "own",
                         .parent_uuid = "GPU-1",
                         .type = "mig"};
  const DeviceMatches matches = MatchDevices(
      {{Offered("gpu"), {.uuid = "GPU-1", .pci_address = "0000:4b:00.0", .type = "gpu"}},
       {Offered("mig-0"), part},
       {Offered("mig-1"), part}},
      {{Probed("x"), {.uuid = "GPU-1", .pci_address = "0000:4b:00.0", .serial = "16"}}});
  EXPECT_EQ(Found(matches), "gpu=x mig-0=x(part) mig-1=x(part)");
}

TEST(DeviceMatch, APartitionThatTheSourceKnowsItselfIsMatchedByItsOwnUuid) {
  const HardwareIds known{
      .uuid = "MIG-1", .pci_address = "0000:4b:00.0", .parent_uuid = "GPU-1", .type = "mig"};
  HardwareIds new_one = known;
  new_one.uuid = "MIG-2";
  const DeviceMatches matches =
      MatchDevices({{Offered("mig-1"), known}, {Offered("mig-2"), new_one}},
                   {{Probed("gpu"), {.uuid = "GPU-1", .pci_address = "0000:4b:00.0"}},
                    {Probed("instance"), Uuid("MIG-1")}});
  EXPECT_EQ(Found(matches), "mig-1=instance mig-2=gpu(part)");
}

TEST(DeviceMatch, APartitionWhoseParentNobodyKnowsGetsNothing) {
  const DeviceMatches matches =
      MatchDevices({{Offered("mig-0"), {.uuid = "GPU-1", .parent_uuid = "GPU-9"}}},
                   {{Probed("x"), Uuid("GPU-1")}});
  EXPECT_EQ(matches, DeviceMatches{});
}

TEST(DeviceMatch, OneGpuMayBeOfferedInTwoForms) {
  const DeviceMatches matches =
      MatchDevices({{Offered("gpu-0"), {.uuid = "GPU-1", .type = "gpu"}},
                    {Offered("gpu-vfio-0"), {.uuid = "GPU-1", .type = "vfio"}}},
                   {{Probed("x"), Uuid("GPU-1")}});
  EXPECT_EQ(Found(matches), "gpu-0=x gpu-vfio-0=x");
}

}  // namespace
}  // namespace galen::agent
