#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/random.h"
#include "base/test_rounds.h"
#include "sdk/plugin/plugin_service.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::string>;

PluginDevice At(std::int64_t node, std::string root = "") {
  return {.numa_node = node, .pcie_root = std::move(root)};
}

// Two nodes of four, each with two roots of two.
const PluginDevices kEight = {{"gpu-0", At(0, "pci:00")}, {"gpu-1", At(0, "pci:00")},
                              {"gpu-2", At(0, "pci:10")}, {"gpu-3", At(0, "pci:10")},
                              {"gpu-4", At(1, "pci:80")}, {"gpu-5", At(1, "pci:80")},
                              {"gpu-6", At(1, "pci:90")}, {"gpu-7", At(1, "pci:90")}};
const Ids kAll = {"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7"};

Ids Prefer(const PluginDevices& devices, const Ids& available, const Ids& must, std::size_t size) {
  const StatusOr<Ids> chosen = PreferDevices(devices, available, must, size);
  EXPECT_TRUE(chosen.ok()) << ToString(chosen.status());
  return chosen.ok() ? *chosen : Ids();
}

TEST(PreferredAllocation, StaysOnOneNodeAndBelowOneRoot) {
  EXPECT_THAT(Prefer(kEight, kAll, {}, 2), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_THAT(Prefer(kEight, kAll, {}, 4), ElementsAre("gpu-0", "gpu-1", "gpu-2", "gpu-3"));
  // gpu-1 and gpu-2 share a node, gpu-4 and gpu-5 a root, too.
  EXPECT_THAT(Prefer(kEight, {"gpu-1", "gpu-2", "gpu-4", "gpu-5"}, {}, 2),
              ElementsAre("gpu-4", "gpu-5"));
}

TEST(PreferredAllocation, KeepsWhatMustBeThereAndStaysBesideIt) {
  EXPECT_THAT(Prefer(kEight, kAll, {"gpu-6"}, 2), ElementsAre("gpu-6", "gpu-7"));
  EXPECT_THAT(Prefer(kEight, kAll, {"gpu-6"}, 3), ElementsAre("gpu-6", "gpu-7", "gpu-4"));
  EXPECT_THAT(Prefer(kEight, {"gpu-0"}, {"gpu-7", "gpu-3"}, 2), ElementsAre("gpu-3", "gpu-7"));
  // What must be there need not be listed as available, nor known.
  EXPECT_THAT(Prefer(kEight, {}, {"strange"}, 1), ElementsAre("strange"));
}

TEST(PreferredAllocation, LeavesLargeGroupsWhole) {
  const Ids available = {"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-6"};
  EXPECT_THAT(Prefer(kEight, available, {}, 1), ElementsAre("gpu-6"));
  EXPECT_THAT(Prefer(kEight, {"gpu-0", "gpu-1", "gpu-2"}, {}, 1), ElementsAre("gpu-2"));
}

TEST(PreferredAllocation, SpreadsOverAsFewNodesAsCanBe) {
  const PluginDevices devices = {{"a", At(0)}, {"b", At(1)}, {"c", At(1)},
                                 {"d", At(2)}, {"e", At(2)}, {"f", At(2)}};
  EXPECT_THAT(Prefer(devices, {"a", "b", "c", "d", "e", "f"}, {}, 4),
              ElementsAre("d", "e", "f", "a"));
}

TEST(PreferredAllocation, GivesWhatSitsNowhereKnownLast) {
  const PluginDevices devices = {{"a", {}}, {"b", {}}, {"c", At(1)}};
  EXPECT_THAT(Prefer(devices, {"a", "b", "c"}, {}, 2), ElementsAre("c", "a"));
  EXPECT_THAT(Prefer({}, {"gpu-10", "gpu-9"}, {}, 1), ElementsAre("gpu-9"));
}

TEST(PreferredAllocation, SaysWhyASizeCannotBeMet) {
  EXPECT_THAT(PreferDevices(kEight, {"gpu-0"}, {}, 2).status().message(),
              HasSubstr("2 devices are asked for, of which 0 must be among them and 1 more"));
  EXPECT_EQ(PreferDevices(kEight, kAll, {"gpu-0", "gpu-1"}, 1).status().code(),
            Code::kInvalidArgument);
  // The same one twice is one.
  EXPECT_EQ(PreferDevices(kEight, {"gpu-0", "gpu-0"}, {}, 2).status().code(),
            Code::kInvalidArgument);
}

std::set<std::optional<std::int64_t>> NodesOf(const PluginDevices& devices, const Ids& ids) {
  std::set<std::optional<std::int64_t>> nodes;
  for (const std::string& id : ids) nodes.insert(devices.at(id).numa_node);
  return nodes;
}

// The fewest nodes that any choice of that size needs: the largest nodes first.
std::size_t FewestNodes(const PluginDevices& devices, const Ids& available, std::size_t size) {
  std::map<std::optional<std::int64_t>, std::size_t> free;
  for (const std::string& id : available) ++free[devices.at(id).numa_node];
  std::vector<std::size_t> sizes;
  for (const auto& [node, count] : free) sizes.push_back(count);
  std::ranges::sort(sizes, std::greater());
  std::size_t nodes = 0;
  for (std::size_t had = 0; had < size; ++nodes) had += sizes[nodes];
  return nodes;
}

TEST(PreferredAllocation, IsAlwaysOfTheRightSizeAndOnTheFewestNodes) {
  const std::uint64_t seed = Random::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    PluginDevices devices;
    Ids available;
    const std::size_t count = 1 + random.Below(12);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string id = "d" + std::to_string(i);
      devices[id] =
          At(static_cast<std::int64_t>(random.Below(4)), "pci:" + std::to_string(random.Below(3)));
      if (random.Below(4) > 0) available.push_back(id);
    }
    const std::size_t size = random.Below(available.size() + 1);
    const Ids chosen = Prefer(devices, available, {}, size);
    EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), size);
    for (const std::string& id : chosen) EXPECT_EQ(std::ranges::count(available, id), 1) << id;
    EXPECT_EQ(NodesOf(devices, chosen).size(), FewestNodes(devices, available, size));
  }
}

}  // namespace
}  // namespace galen::sdk
