#include "agent/post_mortem/node_boot.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::agent {
namespace {

TEST(NodeBoot, IsReadFromTheKernelsFiles) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/proc/sys/kernel/random", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically("/proc/sys/kernel/random/boot_id", "b-1\n", 0444).ok());
  ASSERT_TRUE(
      files.WriteAtomically("/proc/stat", "cpu 1 2\nctxt 7\nbtime 1795269731\nx\n", 0444).ok());
  const NodeBoot boot = ReadNodeBoot(files);
  EXPECT_EQ(boot.id, "b-1");
  EXPECT_EQ(boot.time, WallTime(std::chrono::seconds(1'795'269'731)));
}

TEST(NodeBoot, OfWhatCannotBeReadNothingIsSaid) {
  FakeFileSystem files;
  EXPECT_EQ(ReadNodeBoot(files), NodeBoot());
  ASSERT_TRUE(files.MakeDirectories("/proc", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically("/proc/stat", "cpu 1\nbtime soon\n", 0444).ok());
  EXPECT_EQ(ReadNodeBoot(files), NodeBoot());
}

}  // namespace
}  // namespace galen::agent
