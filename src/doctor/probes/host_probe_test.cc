#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

using ::testing::ElementsAre;

void Write(FakeFileSystem& files, const std::string& path, const std::string& text) {
  ASSERT_TRUE(files.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
  ASSERT_TRUE(files.WriteAtomically(path, text, 0600).ok());
}

TEST(HostProbe, ControlGroupsOfVersion2NameTheirControllers) {
  FakeFileSystem files;
  Write(files, "/cg/cgroup.controllers", "cpuset cpu io memory pids\n");
  const StatusOr<CgroupSeen> seen = LookAtCgroups(files, {.cgroups = "/cg"});
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen->unified);
  EXPECT_THAT(seen->controllers, ElementsAre("cpu", "cpuset", "io", "memory", "pids"));
}

TEST(HostProbe, ControlGroupsOfVersion1AreDirectories) {
  FakeFileSystem files;
  for (const char* name : {"cpu", "cpu,cpuacct", "memory", "pids", "unified"}) {
    ASSERT_TRUE(files.MakeDirectories(std::string("/cg/") + name, 0755).ok());
  }
  const StatusOr<CgroupSeen> seen = LookAtCgroups(files, {.cgroups = "/cg"});
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE(seen->unified);
  EXPECT_THAT(seen->controllers, ElementsAre("cpu", "memory", "pids"));
  EXPECT_FALSE(LookAtCgroups(files, {.cgroups = "/nowhere"}).ok());
}

TEST(HostProbe, LimitsAreReadAndAnInotifyInstanceIsTried) {
  FakeFileSystem files;
  Write(files, "/proc/sys/fs/inotify/max_user_instances", "128\n");
  Write(files, "/proc/sys/fs/inotify/max_user_watches", "65536\n");
  const StatusOr<InotifySeen> seen = LookAtInotify(files, {});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->instances_max, 128);
  EXPECT_EQ(seen->watches_max, 65'536);
  EXPECT_TRUE(seen->tried.ok()) << seen->tried.message();
  Write(files, "/proc/sys/fs/inotify/max_user_watches", "many\n");
  EXPECT_EQ(LookAtInotify(files, {}).status().code(), Code::kDataLoss);
}

TEST(HostProbe, TheTableOfOpenFilesIsRead) {
  FakeFileSystem files;
  Write(files, "/proc/sys/fs/file-nr", "1344\t0\t9223372036854775807\n");
  const StatusOr<FileTableSeen> seen = LookAtFileTable(files, {});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->used, 1344);
  EXPECT_EQ(seen->max, 9'223'372'036'854'775'807);
  Write(files, "/proc/sys/fs/file-nr", "1344\n");
  EXPECT_FALSE(LookAtFileTable(files, {}).ok());
}

TEST(HostProbe, TheKernelsClockAndADiskOfThisMachineCanBeLookedAt) {
  EXPECT_TRUE(LookAtTimeSync().ok());
  const TemporaryDirectory directory;
  const DiskSeen disk = LookAtDisk(directory.path(), "the test");
  EXPECT_TRUE(disk.looked.ok()) << disk.looked.message();
  EXPECT_GT(disk.bytes, 0u);
  EXPECT_TRUE(disk.writable.ok()) << disk.writable.message();
  EXPECT_EQ(LookAtDisk(directory.Path("none"), "the test").looked.code(), Code::kNotFound);
}

TEST(HostProbe, AReadOnlyFileSystemIsSeen) {
  // proc and sysfs cannot be made files in, but only a mount that says so counts as read-only.
  const DiskSeen disk = LookAtDisk("/proc", "the test");
  EXPECT_TRUE(disk.looked.ok());
  EXPECT_EQ(disk.bytes, 0u);
}

}  // namespace
}  // namespace galen::doctor
