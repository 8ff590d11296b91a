#include "active/thermal_zones.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::active {
namespace {

TEST(ThermalZones, TheHottestThatIsCredibleCounts) {
  FakeFileSystem files;
  EXPECT_EQ(HottestZone(files, "/sys"), std::nullopt);
  const auto write = [&](const std::string& zone, const std::string& text) {
    const std::string directory = "/sys/class/thermal/" + zone;
    ASSERT_TRUE(files.MakeDirectories(directory, 0755).ok());
    ASSERT_TRUE(files.WriteAtomically(directory + "/temp", text, 0644).ok());
  };
  write("thermal_zone0", "-274000\n");
  write("thermal_zone1", "x\n");
  write("cooling_device0", "99000\n");
  EXPECT_EQ(HottestZone(files, "/sys"), std::nullopt);
  write("thermal_zone2", "41500\n");
  write("thermal_zone3", "38000\n");
  EXPECT_EQ(HottestZone(files, "/sys"), 41.5);
}

}  // namespace
}  // namespace galen::active
