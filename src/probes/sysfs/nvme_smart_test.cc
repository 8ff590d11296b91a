#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/device_look.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using ::testing::HasSubstr;

TEST(NvmeSmart, APageBecomesLinesThatASignNames) {
  std::string page(kSmartPageBytes, '\0');
  page[0] = 0x0c;
  page[3] = 97;
  page[4] = 10;
  page[5] = static_cast<char>(130);  // a drive may be used past its planned life
  page[160] = 2;
  page[161] = 1;
  EXPECT_EQ(SmartText(page),
            "critical_warning: 12\navailable_spare: 97\navailable_spare_threshold: 10\n"
            "percentage_used: 130\nmedia_errors: 258\n");
  page[168] = 1;  // past 64 bits
  EXPECT_THAT(SmartText(page), HasSubstr("media_errors: 18446744073709551615\n"));
  EXPECT_EQ(SmartText(page.substr(1)), "");
}

TEST(NvmeSmart, OnlyControllersOfTheKernelsOwnTreeHaveANode) {
  EXPECT_EQ(NvmeNodeOf("/sys/class/nvme/nvme0/@nvme-smart"), "/dev/nvme0");
  EXPECT_EQ(NvmeNodeOf("/sys/bus/pci/devices/0000:01:00.0/nvme/nvme12/@nvme-smart"), "/dev/nvme12");
  for (const char* other :
       {"/tmp/sys/class/nvme/nvme0/@nvme-smart", "/sys/class/nvme/nvme0/state",
        "/sys/class/nvme/nvme/@nvme-smart", "/sys/class/nvme/nvme0n1/@nvme-smart",
        "/sys/class/nvme/../@nvme-smart", "/sys/@nvme-smart", "@nvme-smart", ""}) {
    EXPECT_EQ(NvmeNodeOf(other), "") << other;
  }
}

TEST(NvmeSmart, WhatIsNoDriveIsAnErrorAndAMissingNodeIsNone) {
  const TemporaryDirectory directory;
  std::ofstream(directory.Path("nvme0")) << "text\n";
  EXPECT_THAT(ReadNvmeSmart(directory.Path("nvme0")).status().message(),
              HasSubstr("is not a character device"));
  EXPECT_EQ(ReadNvmeSmart(directory.Path("nvme1")).status().code(), Code::kNotFound);
  EXPECT_FALSE(ReadNvmeSmart("/dev/null").ok()) << "a device that knows no such command";
}

// Who may not ask the drive learns nothing, bad or good; a drive without a device node has no sign.
TEST(NvmeSmart, ARefusalIsAnErrorOfEachOfItsSigns) {
  const StatusOr<RuleTable> rules = ParseRules(kNvmeSmartRules, "nvme-smart");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  FakeSysfs files;
  files.files["/sys/class/nvme/nvme0/state"] = "live\n";
  const auto look = [&] {
    std::string said;
    for (const SignReading& reading :
         LookAtDevice(files, "/sys/class/nvme/nvme0", WithFiles(rules->signs),
                      [](const auto&, const auto&) {})
             .readings) {
      if (reading.sign.starts_with("smart-")) said += reading.error + (reading.value ? "!" : ".");
    }
    return said;
  };
  EXPECT_EQ(look(), "....");
  files.errors["/sys/class/nvme/nvme0/@nvme-smart"] = PermissionDenied("not permitted");
  EXPECT_EQ(look(), "not permitted.not permitted.not permitted.not permitted.");
}

}  // namespace
}  // namespace galen::probes
