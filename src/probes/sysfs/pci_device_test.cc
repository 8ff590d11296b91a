#include "probes/sysfs/pci_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void AddDevice(FakeSysfs& files, const std::string& address, const std::string& model,
               const std::string& class_code) {
  const std::string directory = "/sys/bus/pci/devices/" + address;
  files.files[directory + "/vendor"] = "0x" + model.substr(0, 4) + "\n";
  files.files[directory + "/device"] = "0x" + model.substr(5) + "\n";
  files.files[directory + "/class"] = "0x" + class_code + "\n";
  files.files[directory + "/numa_node"] = "-1\n";
}

std::vector<std::string> Selected(const FakeSysfs& files, const std::string& selection) {
  std::vector<std::string> addresses;
  const std::vector<PciDevice> all =
      *FindPciDevices(files, "/sys", {*ParsePciSelection(selection)});
  for (const PciDevice& device : all) {
    addresses.push_back(device.address);
  }
  return addresses;
}

TEST(PciDevice, IsSelectedByVendorModelClassOrAddress) {
  FakeSysfs files;
  AddDevice(files, "0000:4b:00.0", "10de:2330", "030200");
  AddDevice(files, "0000:4c:00.0", "10de:22a3", "068000");
  AddDevice(files, "0001:01:00.0", "144d:a80a", "010802");
  AddDevice(files, "0000:4d:00.0", "10de:", "030200");  // of no known model, it is none
  EXPECT_THAT(Selected(files, "10DE"), ElementsAre("0000:4b:00.0", "0000:4c:00.0"));
  EXPECT_THAT(Selected(files, "10de:22a3"), ElementsAre("0000:4c:00.0"));
  EXPECT_THAT(Selected(files, "class:03"), ElementsAre("0000:4b:00.0"));
  EXPECT_THAT(Selected(files, "class:0108"), ElementsAre("0001:01:00.0"));
  EXPECT_THAT(Selected(files, "4b:00.0"), ElementsAre("0000:4b:00.0"));
  EXPECT_THAT(Selected(files, "0001:01:00.0"), ElementsAre("0001:01:00.0"));
  EXPECT_THAT(Selected(files, "1af4"), ElementsAre());
}

TEST(PciDevice, SaysWhereItHangs) {
  FakeSysfs files;
  AddDevice(files, "0000:4b:00.0", "10de:2330", "030200");
  files.files["/sys/bus/pci/devices/0000:4b:00.0/numa_node"] = "1\n";
  files.links["/sys/bus/pci/devices/0000:4b:00.0"] =
      "/sys/devices/pci0000:4a/0000:4a:01.0/0000:4b:00.0";
  const PciDevice device = FindPciDevices(files, "/sys", {*ParsePciSelection("10de")})->at(0);
  EXPECT_EQ(device.pcie_root, "pci0000:4a");
  EXPECT_EQ(device.numa_node, 1);
  EXPECT_EQ(device.class_code, "030200");
}

TEST(PciDevice, WithoutANodeOrARootHasNone) {
  FakeSysfs files;
  AddDevice(files, "0000:4b:00.0", "10de:2330", "030200");
  const PciDevice device = FindPciDevices(files, "/sys", {*ParsePciSelection("10de")})->at(0);
  EXPECT_EQ(device.pcie_root, "");
  EXPECT_EQ(device.numa_node, std::nullopt);
}

TEST(PciDevice, OfAnotherFormOfSelectionIsNone) {
  for (const char* text :
       {"", "10d", "10de:", "nvidia", "class:", "class:030", "4b:00", "10de:*"}) {
    EXPECT_THAT(ParsePciSelection(text).status().message(), HasSubstr("is not a vendor (10de)"))
        << text;
  }
}

TEST(PciDevice, NeedsAPciBus) {
  EXPECT_EQ(FindPciDevices(FakeSysfs(), "/sys", {}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::probes
