#include "cli/placement/cluster_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/yaml.h"

namespace galen::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Json> ObjectsOf(std::string_view yaml) { return ParseYaml(yaml).value().items(); }

TEST(ClusterPicture, NodesComeInTheOrderOfTheirNames) {
  alloc::Picture picture;
  AddNodes(ObjectsOf("[{metadata: {name: b}}, {metadata: {name: a}, spec: {unschedulable: true}}]"),
           picture);
  ASSERT_EQ(picture.nodes.size(), 2U);
  EXPECT_EQ(picture.nodes[0].node.name, "a");
  EXPECT_TRUE(picture.nodes[0].cordoned);
}

TEST(ClusterPicture, ClaimsWithoutDevicesHoldNothing) {
  alloc::Picture picture;
  AddClaims(ObjectsOf(R"([{metadata: {name: waiting, namespace: ns}},
      {metadata: {name: held, namespace: ns}, status: {reservedFor: [{name: p}], allocation:
       {devices: {results: [{request: gpu, driver: d, pool: n, device: gpu-0}]}}}}])"),
            picture);
  ASSERT_EQ(picture.held.size(), 1U);
  EXPECT_EQ(ToString(picture.held[0].key), "ns/held");
  EXPECT_THAT(picture.held[0].pods, ElementsAre(ObjectKey{"ns", "p"}));
  EXPECT_EQ(picture.held[0].allocation.devices.at(0).id.device, "gpu-0");
  EXPECT_THAT(picture.gaps, IsEmpty());
}

TEST(ClusterPicture, WhatCannotBeUnderstoodIsAGapThatNamesIt) {
  alloc::Picture picture;
  AddSlices(ObjectsOf(R"([{metadata: {name: odd}, spec: {driver: d, pool: {name: n}, devices:
      [{name: gpu-0, capacity: {memory: {value: much}}}]}}])"),
            picture);
  AddClaims(
      ObjectsOf(R"([{metadata: {name: c, namespace: ns}, status: {allocation: {devices: {results:
      [{request: gpu, driver: d, pool: n, device: gpu-0, shareID: x,
        consumedCapacity: {memory: much}}]}}}}])"),
      picture);
  EXPECT_THAT(picture.gaps, ElementsAre(HasSubstr("odd"), HasSubstr("claim ns/c")));
}

TEST(ClusterPicture, OnlyDevicesThatAreNotWellHaveAWordOfTheirHealth) {
  alloc::Picture picture;
  AddHealth(ObjectsOf(R"([{metadata: {name: n, uid: u}, status: {devices: [
      {driver: d, pool: n, device: good, state: Healthy, since: '2026-01-01T00:00:00Z'},
      {driver: d, pool: n, device: bad, state: Unhealthy, since: '2026-01-01T00:00:00Z',
       cause: {code: XidGpuLost, message: lost}}]}}])"),
            ParseRfc3339("2026-01-01T00:06:00Z").value(), picture);
  ASSERT_EQ(picture.health.size(), 1U);
  EXPECT_EQ(picture.health.at({"d", "n", "bad"}), "Unhealthy XidGpuLost for 6m");
}

TEST(ClusterPicture, TheAllocatorIsThatOfTheServersRelease) {
  const auto minor = [](const char* text) {
    return OptionsOf(Json::MakeObject({{"minor", text}})).minor;
  };
  EXPECT_EQ(minor("36"), 36);
  EXPECT_EQ(minor("35+"), 35) << "as some vendors write it";
  EXPECT_EQ(minor("20"), alloc::kOldestMinor);
  EXPECT_EQ(minor("99"), alloc::kNewestMinor);
  EXPECT_EQ(minor(""), alloc::kNewestMinor);
  EXPECT_FALSE(OptionsOf(Json::MakeObject({{"minor", "34"}})).features.device_taints);
}

}  // namespace
}  // namespace galen::cli
