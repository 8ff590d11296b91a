#include "model/driver_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DriverVersion, AModuleSaysItsOwnInSysfsAndInProc) {
  EXPECT_EQ(KernelModuleVersion("570.124.06\n"), "570.124.06");
  EXPECT_EQ(KernelModuleVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu "
                                "Oct 19 18:56:32 UTC 2023\nGCC version:  gcc version 12.2.0\n"),
            "535.129.03");
  EXPECT_EQ(KernelModuleVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57  "
                                "Release Build  (dvs-builder@U16-A24-9-2)\n"),
            "565.57");
}

TEST(DriverVersion, ATextWithoutOneHasNone) {
  EXPECT_EQ(KernelModuleVersion(""), "");
  EXPECT_EQ(KernelModuleVersion("version .5 or 570. of 1"), "");
  EXPECT_EQ(KernelModuleVersion("NVRM version: unknown\nGCC version:  gcc version 12.2.0\n"), "");
}

TEST(DriverVersion, ALibraryHasItInItsFilesName) {
  EXPECT_EQ(LibraryVersion("/usr/lib64/libcuda.so.570.124.06"), "570.124.06");
  EXPECT_EQ(LibraryVersion("libnvidia-ml.so.1"), "");
  EXPECT_EQ(LibraryVersion("libcuda.so"), "");
  EXPECT_EQ(LibraryVersion("libcuda.so.570.124.06.bak"), "");
}

TEST(DriverVersion, OfADirectoryEachVersionCountsOnceAndOtherLibrariesNotAtAll) {
  EXPECT_THAT(LibraryVersions({"libcuda.so.1", "libcuda.so.570.1", "libnvidia-ml.so.570.1",
                               "libnvidia-ml.so.580.2", "libnvidia-cfg.so.1.2", "libc.so.6.1"}),
              ElementsAre("570.1", "580.2"));
  EXPECT_THAT(LibraryVersions({}), IsEmpty());
}

}  // namespace
}  // namespace galen
