#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class FeatureProbeTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  NodeFeatures Look() { return LookAtFeatures(files_, {}); }

  FakeFileSystem files_;
};

TEST_F(FeatureProbeTest, TheKernelsVersionHasItsNumbersByName) {
  Write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  EXPECT_THAT(Look().attributes["kernel.version"],
              ElementsAre(Pair("full", "6.1.0-18-amd64"), Pair("major", "6"), Pair("minor", "1"),
                          Pair("revision", "0")));
  Write("/proc/sys/kernel/osrelease", "7.0-rc1\n");
  EXPECT_EQ(Look().attributes["kernel.version"].count("revision"), 0u);
}

TEST_F(FeatureProbeTest, LoadedModulesAreFlags) {
  Write("/proc/modules", "vfio_pci 16384 0 - Live 0x0\nnvidia 5 2 - Live 0x0\n");
  EXPECT_THAT(Look().flags["kernel.loadedmodule"], ElementsAre("nvidia", "vfio_pci"));
}

TEST_F(FeatureProbeTest, AProcessorIsCalledAsNfdCallsItOrNotAtAll) {
  Write("/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
        "model name\t: AMD EPYC 7763\n\nprocessor\t: 1\nvendor_id\t: none\n");
  EXPECT_THAT(Look().attributes["cpu.model"],
              ElementsAre(Pair("family", "25"), Pair("id", "1"), Pair("vendor_id", "AMD")));
  Write("/proc/cpuinfo", "vendor_id\t: Unheard\n");
  EXPECT_EQ(Look().attributes.count("cpu.model"), 0u);
}

TEST_F(FeatureProbeTest, APciDeviceHasItsClassWithoutTheInterface) {
  Write("/sys/bus/pci/devices/0000:4b:00.0/vendor", "0x10de\n");
  Write("/sys/bus/pci/devices/0000:4b:00.0/class", "0x030200\n");
  ASSERT_THAT(Look().instances["pci.device"], SizeIs(1));
  EXPECT_THAT(Look().instances["pci.device"][0],
              ElementsAre(Pair("class", "0302"), Pair("vendor", "10de")));
}

TEST_F(FeatureProbeTest, WhatIsNotThereWasNotLookedAt) {
  EXPECT_THAT(Look().attributes, IsEmpty());
  EXPECT_THAT(Look().flags, IsEmpty());
  EXPECT_THAT(Look().instances, IsEmpty());
}

}  // namespace
}  // namespace galen::doctor
