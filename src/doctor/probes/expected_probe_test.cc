#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ExpectedProbeTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }

  FakeFileSystem files_;
};

TEST_F(ExpectedProbeTest, PciDevicesAreKnownByVendorAndDevice) {
  for (const char* address : {"0000:4b:00.0", "0000:4c:00.0"}) {
    Write(fmt::format("/sys/bus/pci/devices/{}/vendor", address), "0x10de\n");
    Write(fmt::format("/sys/bus/pci/devices/{}/device", address), "0x2330\n");
  }
  const ExpectedSeen seen = LookForExpected(files_, {}, {});
  ASSERT_TRUE(seen.pci.ok());
  EXPECT_THAT(seen.pci->at("10de:2330"), ElementsAre("0000:4b:00.0", "0000:4c:00.0"));
}

TEST_F(ExpectedProbeTest, AMachineWithoutAPciBusIsNotLookedAt) {
  EXPECT_EQ(LookForExpected(files_, {}, {}).pci.status().code(), Code::kNotFound);
}

TEST_F(ExpectedProbeTest, FirmwareIsReadOfEachFileThatAPatternNames) {
  Write("/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
  Write("/sys/class/infiniband/mlx5_1/fw_ver", " 28.40.1000 \n");
  Write("/sys/class/infiniband/other/fw_ver", "1\n");
  const std::string pattern = "class/infiniband/mlx5_*/fw_ver";
  const ExpectedSeen seen =
      LookForExpected(files_, {}, {.firmware = {{.files = pattern, .versions = {"1"}}}});
  const std::vector<FirmwareSeen>& found = seen.firmware.at(pattern);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].path, "class/infiniband/mlx5_0/fw_ver");
  EXPECT_EQ(*found[0].version, "28.39.1002");
  EXPECT_EQ(*found[1].version, "28.40.1000");
}

TEST_F(ExpectedProbeTest, APatternThatNamesNothingHasNoFirmware) {
  const ExpectedSeen seen =
      LookForExpected(files_, {}, {.firmware = {{.files = "class/x/fw", .versions = {"1"}}}});
  EXPECT_THAT(seen.firmware.at("class/x/fw"), IsEmpty());
}

}  // namespace
}  // namespace galen::doctor
