#include <gtest/gtest.h>

#include "cli/demo/demo_story.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::cli {
namespace {

TEST(RealSign, IsTheFirstTemperatureWithItsLimit) {
  probes::FakeSysfs files;
  files.files = {{"/sys/class/hwmon/hwmon0/name", "fan\n"},
                 {"/sys/class/hwmon/hwmon1/temp1_input", "41500\n"},
                 {"/sys/class/hwmon/hwmon1/temp1_crit", "95000\n"},
                 {"/sys/class/net/eth0/carrier", "1\n"},
                 {"/sys/class/net/eth0/device/vendor", "0x1\n"}};
  EXPECT_EQ(RealSign(files, "/sys"),
            "class/hwmon/hwmon1: temperature 41.5 of 95 °C (galen-driver sysfs)");
}

TEST(RealSign, IsElseAPciLink) {
  probes::FakeSysfs files;
  files.files = {{"/sys/bus/pci/devices/0000:4b:00.0/current_link_width", "8\n"},
                 {"/sys/bus/pci/devices/0000:4b:00.0/max_link_width", "16\n"}};
  EXPECT_EQ(RealSign(files, "/sys"),
            "bus/pci/devices/0000:4b:00.0: link-width 8 of 16 lanes (galen-driver pci)");
}

TEST(RealSign, IsElseANetworkCardWithHardware) {
  probes::FakeSysfs files;
  files.files = {{"/sys/class/net/br0/carrier", "1\n"},
                 {"/sys/class/net/eth1/carrier", "0\n"},
                 {"/sys/class/net/eth1/device/vendor", "0x1\n"}};
  EXPECT_EQ(RealSign(files, "/sys"), "class/net/eth1: carrier down (galen-driver nic)");
}

TEST(RealSign, OfAMachineWithoutAnyIsNone) { EXPECT_EQ(RealSign(probes::FakeSysfs(), "/sys"), ""); }

}  // namespace
}  // namespace galen::cli
