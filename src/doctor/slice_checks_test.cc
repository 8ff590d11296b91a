// The checks of slice_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

// The slices of the node and of the cluster, as one list.
void SetSlices(Observations& seen, const std::vector<kube::ResourceSlice>& slices) {
  seen.api.slices = slices;
  std::vector<SlicePlace> places;
  for (const kube::ResourceSlice& slice : slices) places.push_back(PlaceOf(slice));
  seen.api.all_slices = places;
}

TEST(SliceChecks, EachFindsWhatItIsFor) {
  ExpectEachIsFound(
      {
          {{"slices.missing bad"},
           "gpu.example.com has no ResourceSlice here",
           [](Observations& s) { SetSlices(s, {}); }},
          {{"slices.orphaned bad"},
           "s-9 offers 1 device of nic.example.com, which does not run here",
           [](Observations& s) {
             kube::ResourceSlice slice = GoodSlice("s-9", "nic-0");
             slice.driver = "nic.example.com";
             slice.slice_count = 1;
             s.api.slices->push_back(slice);
             s.api.all_slices->push_back(PlaceOf(slice));
           }},
          {{"slices.generations warning"},
           "is at generation 3, and s-old is older",
           [](Observations& s) {
             kube::ResourceSlice old = GoodSlice("s-old", "gpu-0");
             old.generation = 2;
             s.api.slices->push_back(old);
             s.api.all_slices->push_back(PlaceOf(old));
           }},
          {{"slices.complete bad"},
           "pool node-7 of gpu.example.com is to have 3 slices of generation 3, and has 2",
           [](Observations& s) {
             for (kube::ResourceSlice& slice : *s.api.slices) slice.slice_count = 3;
           }},
          {{"slices.duplicates bad", "claims.devices-gone warning"},
           "gpu-1 is in pool node-7 of gpu.example.com twice",
           [](Observations& s) { (*s.api.slices)[0].devices[0].name = "gpu-1"; }},
          {{"slices.node-gone warning"},
           "s-x of gpu.example.com is for node node-9, which is gone",
           [](Observations& s) {
             s.api.all_slices->push_back({.name = "s-x",
                                          .driver = "gpu.example.com",
                                          .node = "node-9",
                                          .pool = "node-9",
                                          .generation = 1});
           }},
      },
      SliceChecks());
}

TEST(SliceChecks, DevicesThatAllNodesReachAreInSlicesWithoutANode) {
  Observations seen = GoodObservations();
  SetSlices(seen, {});
  seen.api.all_slices->push_back({.name = "s", .driver = "gpu.example.com", .pool = "p"});
  EXPECT_EQ(ResultOf(seen, "slices.missing").level, Level::kGood);
}

TEST(SliceChecks, ADriverWhoseDevicesGoByADevicePluginNeedsNoSlice) {
  Observations seen = GoodObservations();
  SetSlices(seen, {});
  EXPECT_EQ(ResultOf(seen, "slices.missing").level, Level::kBad);
  seen.kubelet.device_plugins = {"gpu.example.com"};
  EXPECT_EQ(ResultOf(seen, "slices.missing").level, Level::kGood);
}

TEST(SliceChecks, APoolThatSpansNodesIsCountedOverAllOfThem) {
  Observations seen = GoodObservations();
  for (kube::ResourceSlice& slice : *seen.api.slices) slice.slice_count = 3;
  SlicePlace far = PlaceOf((*seen.api.slices)[0]);
  far.node = "node-8";
  seen.api.all_slices->push_back(far);
  EXPECT_EQ(ResultOf(seen, "slices.complete").level, Level::kGood);
}

TEST(SliceChecks, AnOlderGenerationsDevicesCountForNothing) {
  Observations seen = GoodObservations();
  kube::ResourceSlice old = GoodSlice("s-old", "gpu-0");
  old.generation = 2;
  old.slice_count = 7;
  seen.api.slices->push_back(old);
  seen.api.all_slices->push_back(PlaceOf(old));
  EXPECT_EQ(ResultOf(seen, "slices.duplicates").level, Level::kGood);
  EXPECT_EQ(ResultOf(seen, "slices.complete").level, Level::kGood);
}

TEST(SliceChecks, ARegistryThatCannotBeReadOrphansNobody) {
  Observations seen = GoodObservations();
  (*seen.registry)[0].connected = PermissionDenied("permission denied");
  EXPECT_EQ(ResultOf(seen, "slices.orphaned").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
