#include "driver/nvidia_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::device_driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NvidiaFilesTest : public ::testing::Test {
 protected:
  void Make(const std::string& path) {
    EXPECT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    EXPECT_TRUE(files_.WriteAtomically(path, "x", 0644).ok());
  }
  std::vector<std::string> Mounts(const NvidiaFiles& found) {
    std::vector<std::string> texts;
    for (const CdiEdits::Mount& mount : found.libraries) {
      texts.push_back(mount.host_path + " -> " + mount.container_path);
    }
    return texts;
  }

  FakeFileSystem files_;
};

TEST_F(NvidiaFilesTest, ComputeLibrariesAreMountedWhereTheyAreOnTheHost) {
  Make("/usr/lib/x86_64-linux-gnu/libcuda.so.1");
  Make("/usr/lib/x86_64-linux-gnu/libcuda.so.570.124.06");
  Make("/usr/lib/x86_64-linux-gnu/libc.so.6");
  Make("/usr/bin/nvidia-smi");
  Make("/dev/nvidiactl");
  Make("/dev/nvidia-uvm");
  const NvidiaFiles found = FindNvidiaFiles(files_, "/", "/");
  EXPECT_THAT(Mounts(found), ElementsAre("/usr/lib/x86_64-linux-gnu/libcuda.so.1 -> "
                                         "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                         "/usr/lib/x86_64-linux-gnu/libcuda.so.570.124.06 -> "
                                         "/usr/lib/x86_64-linux-gnu/libcuda.so.570.124.06",
                                         "/usr/bin/nvidia-smi -> /usr/bin/nvidia-smi"));
  EXPECT_EQ(found.device_directory, "/dev");
  EXPECT_THAT(found.control_nodes, ElementsAre("nvidiactl", "nvidia-uvm"));
}

TEST_F(NvidiaFilesTest, ADriverInAContainerHasItsFilesByTheHostsPath) {
  Make("/driver/usr/lib64/libcuda.so.1");
  Make("/driver/dev/nvidiactl");
  const NvidiaFiles found = FindNvidiaFiles(files_, "/driver", "/run/nvidia/driver");
  EXPECT_THAT(Mounts(found),
              ElementsAre("/run/nvidia/driver/usr/lib64/libcuda.so.1 -> /usr/lib64/libcuda.so.1"));
  EXPECT_EQ(found.device_directory, "/run/nvidia/driver/dev");
  EXPECT_THAT(found.control_nodes, ElementsAre("nvidiactl"));
}

TEST_F(NvidiaFilesTest, WhatIsNotThereIsLeftOut) {
  const NvidiaFiles found = FindNvidiaFiles(files_, "/", "/");
  EXPECT_THAT(found.libraries, IsEmpty());
  EXPECT_THAT(found.control_nodes, IsEmpty());
}

TEST_F(NvidiaFilesTest, AMigInstanceHasTheNodesOfItsCapabilities) {
  const std::string instance = "/proc/driver/nvidia/capabilities/gpu3/mig/gi9";
  ASSERT_TRUE(files_.MakeDirectories(instance + "/ci0", 0755).ok());
  const auto write = [&](const std::string& path, int minor) {
    const std::string text =
        fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 444\nDeviceFileModify: 1\n", minor);
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  };
  write(instance + "/access", 21);
  const auto half = FindMigNodes(files_, "/proc", 3, 9, 0);
  EXPECT_EQ(half.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(half.status().message(), ::testing::HasSubstr("gi9/ci0/access"));
  write(instance + "/ci0/access", 22);
  EXPECT_THAT(*FindMigNodes(files_, "/proc", 3, 9, 0),
              ElementsAre("nvidia-caps/nvidia-cap21", "nvidia-caps/nvidia-cap22"));
}

TEST_F(NvidiaFilesTest, LibrariesOfAnotherVersionThanTheModuleAreRefusedWithBoth) {
  Make("/usr/lib64/libcuda.so.1");
  Make("/usr/lib64/libcuda.so.570.133.20");
  Make("/usr/lib64/libnvidia-ml.so.570.133.20");
  const NvidiaFiles found = FindNvidiaFiles(files_, "/", "/");
  EXPECT_EQ(CheckVersions("570.133.20", found), OkStatus());
  const Status refused = CheckVersions("570.124.06", found);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "NVIDIA's kernel module is 570.124.06, its libraries on this node are 570.133.20: "
            "drain the node and load the new module, or start the node anew");
}

TEST_F(NvidiaFilesTest, AVersionThatIsNotKnownRefusesNothing) {
  Make("/usr/lib64/libcuda.so.1");
  const NvidiaFiles unversioned = FindNvidiaFiles(files_, "/", "/");
  EXPECT_EQ(CheckVersions("570.124.06", unversioned), OkStatus());
  Make("/usr/lib64/libcuda.so.570.133.20");
  EXPECT_EQ(CheckVersions("", FindNvidiaFiles(files_, "/", "/")), OkStatus());
}

TEST_F(NvidiaFilesTest, NvmlIsTakenFromTheDriversRootOrLeftToTheLinker) {
  EXPECT_EQ(FindNvml(files_, "/driver"), "libnvidia-ml.so.1");
  Make("/driver/usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(FindNvml(files_, "/driver"), "/driver/usr/lib64/libnvidia-ml.so.1");
}

TEST_F(NvidiaFilesTest, NumaNodesAreThoseThatSysfsKnows) {
  const std::string devices = "/sys/bus/pci/devices/";
  for (const std::string place : {"0000:4b:00.0", "0000:4c:00.0"}) {
    ASSERT_TRUE(files_.MakeDirectories(devices + place, 0755).ok());
  }
  ASSERT_TRUE(files_.WriteAtomically(devices + "0000:4b:00.0/numa_node", "1\n", 0644).ok());
  ASSERT_TRUE(files_.WriteAtomically(devices + "0000:4c:00.0/numa_node", "-1\n", 0644).ok());
  const std::vector<probes::NvmlGpu> gpus = {{.pci_address = "0000:4b:00.0"},
                                             {.pci_address = "0000:4c:00.0"},
                                             {.pci_address = "0000:4d:00.0"}};
  const std::map<std::string, std::int64_t> known = {{"0000:4b:00.0", 1}};
  EXPECT_EQ(NumaNodes(files_, "/sys", gpus), known);
}

}  // namespace
}  // namespace galen::device_driver
