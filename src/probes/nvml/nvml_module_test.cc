#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "probes/nvml/nvml_library.h"

namespace galen::probes {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class NvmlModuleTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0444).ok());
  }
  NvmlModule Read() { return ReadNvmlModule(files_, "/sys", "/proc"); }

  FakeFileSystem files_;
};

TEST_F(NvmlModuleTest, NamesItsVersionAndItsGpus) {
  Write("/sys/module/nvidia/version", "570.124.06\n");
  Write("/proc/driver/nvidia/gpus/0000:62:00.0/information",
        "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 10\n"
        "GPU UUID: \t GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b\nBus Location: \t 0000:62:00.0\n"
        "Device Minor: \t 5\nGPU Excluded:\t No\n");
  const NvmlModule module = Read();
  EXPECT_EQ(module.version, "570.124.06");
  ASSERT_THAT(module.gpus, SizeIs(1));
  EXPECT_EQ(module.gpus[0], (NvmlGpu{.uuid = "GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b",
                                     .model = "NVIDIA H100 80GB HBM3",
                                     .pci_address = "0000:62:00.0",
                                     .minor = 5,
                                     .is_mode_unknown = true}));
}

TEST_F(NvmlModuleTest, WithoutSysfsTheVersionIsThatOfProc) {
  Write("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03"
        "  Thu Oct 19 18:56:32 UTC 2023\n");
  EXPECT_EQ(Read().version, "535.129.03");
}

TEST_F(NvmlModuleTest, AGpuThatWasNeverInitialisedCannotBeDescribed) {
  Write("/proc/driver/nvidia/gpus/0000:62:00.0/information",
        "Model: NVIDIA H100\nGPU UUID: GPU-?\n");
  ASSERT_THAT(Read().gpus, SizeIs(1));
  EXPECT_EQ(Read().gpus[0].error, "it has no UUID");
  EXPECT_EQ(Read().gpus[0].minor, std::nullopt);
}

TEST_F(NvmlModuleTest, AModuleThatIsNotLoadedShowsNothing) {
  EXPECT_EQ(Read().version, "");
  EXPECT_THAT(Read().gpus, IsEmpty());
}

}  // namespace
}  // namespace galen::probes
