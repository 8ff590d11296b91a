// The checks of version_checks.cc, each finding one thing that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

// An image that needs a module.
CompatibilitySet NeedsVfio() {
  const FeatureTerm term{.feature = "kernel.loadedmodule",
                         .expressions = {{.element = "vfio_pci", .op = "Exists"}}};
  return {.description = "a card", .rules = {{.name = "modules", .terms = {term}}}};
}

TEST(VersionChecks, EachFindsWhatItIsFor) {
  ExpectEachIsFound(
      {
          {{"versions.nvidia bad"},
           "kernel module 570.124.06; libraries below /: 570.133.20",
           [](Observations& s) { s.host.nvidia->libraries = {"570.133.20"}; }},
          {{"versions.nvidia warning"},
           "libraries below /: 570.124.06, 570.133.20",
           [](Observations& s) { s.host.nvidia->libraries.push_back("570.133.20"); }},
          {{"versions.devices bad"},
           "1 of 2 PCI devices 10de:2330; missing: 0000:4c:00.0",
           [](Observations& s) {
             s.expected->wanted.devices = {
                 {.pci = "10de:2330", .addresses = {"0000:4b:00.0", "0000:4c:00.0"}, .count = 2}};
             (*s.expected->pci)["10de:2330"] = {"0000:4b:00.0"};
           }},
          {{"versions.devices bad"},
           "2 of 8 H200 of gpu.example.com",
           [](Observations& s) {
             for (kube::ResourceSlice& slice : *s.api.slices) {
               slice.devices[0].attributes["model"] = std::string("H200");
             }
             s.expected->wanted.devices = {
                 {.model = "H200", .driver = "gpu.example.com", .count = 8}};
           }},
          {{"versions.devices warning"},
           "1 of 0 PCI devices",
           [](Observations& s) {
             s.expected->wanted.devices = {{.pci = "10de:2330", .count = 0}};
             (*s.expected->pci)["10de:2330"] = {"0000:4b:00.0"};
           }},
          {{"versions.firmware warning"},
           "/sys/class/nvme/nvme0/firmware_rev is 1.0, expected 1.2 or 1.3",
           [](Observations& s) {
             s.expected->wanted.firmware = {{.files = "f", .versions = {"1.2", "1.3"}}};
             s.expected->firmware["f"] = {
                 {.path = "class/nvme/nvme0/firmware_rev", .version = std::string("1.0")}};
           }},
          {{"versions.firmware warning"},
           "gpu-0 is 1.0.0, expected 1.2.0",
           [](Observations& s) {
             (*s.api.slices)[0].devices[0].attributes["firmware"] = kube::Version{"1.0.0"};
             s.expected->wanted.firmware = {
                 {.driver = "gpu.example.com", .attribute = "firmware", .versions = {"1.2.0"}}};
           }},
          {{"versions.image bad"},
           "\"a card\": rule modules",
           [](Observations& s) {
             s.image->needs = {NeedsVfio()};
             s.image->features.flags["kernel.loadedmodule"] = {"nvidia"};
           }},
      },
      VersionChecks());
}

TEST(VersionChecks, AnImageFitsWhereOneOfItsSetsDoesAndIsUnknownWhereNothingIsKnown) {
  Observations seen = GoodObservations();
  seen.image->needs = {NeedsVfio(), NeedsVfio()};
  EXPECT_EQ(ResultOf(seen, "versions.image").level, Level::kUnknown);
  seen.image->needs[0].rules[0].terms[0].feature = "kernel.enabledmodule";
  seen.image->features.flags["kernel.loadedmodule"] = {"vfio_pci"};
  EXPECT_EQ(ResultOf(seen, "versions.image").level, Level::kGood);
}

TEST(VersionChecks, ANodeWithoutNvidiasDriverIsWell) {
  Observations seen = GoodObservations();
  seen.host.nvidia = NvidiaSeen{};
  EXPECT_EQ(ResultOf(seen, "versions.nvidia").level, Level::kGood);
  seen.host.nvidia->libraries = {"570.124.06"};
  EXPECT_EQ(ResultOf(seen, "versions.nvidia").level, Level::kGood);
}

TEST(VersionChecks, WhatIsExpectedAndThereIsWell) {
  Observations seen = GoodObservations();
  seen.expected->wanted = {
      .devices = {{.pci = "10de:2330", .addresses = {"0000:4b:00.0"}, .count = 1}},
      .firmware = {{.files = "f", .versions = {"1.2"}}}};
  (*seen.expected->pci)["10de:2330"] = {"0000:4b:00.0"};
  seen.expected->firmware["f"] = {{.path = "a", .version = std::string("1.2")}};
  EXPECT_EQ(ResultOf(seen, "versions.devices").level, Level::kGood);
  EXPECT_EQ(ResultOf(seen, "versions.firmware").level, Level::kGood);
}

TEST(VersionChecks, WhatCannotBeLookedAtIsUnknownWhateverIsExpected) {
  Observations seen = GoodObservations();
  seen.expected->wanted = {.devices = {{.model = "H200", .count = 8}},
                           .firmware = {{.files = "class/none", .versions = {"1"}}}};
  seen.api.slices = PermissionDenied("missing right: list resourceslices");
  EXPECT_EQ(ResultOf(seen, "versions.devices").level, Level::kUnknown);
  EXPECT_EQ(ResultOf(seen, "versions.firmware").level, Level::kUnknown);
}

TEST(VersionChecks, LibrariesThatAreNotSeenAreNotTakenForMissing) {
  Observations seen = GoodObservations();
  seen.host.nvidia->libraries.clear();
  EXPECT_EQ(ResultOf(seen, "versions.nvidia").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
