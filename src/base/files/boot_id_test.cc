#include "base/files/boot_id.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen {
namespace {

TEST(BootId, IsReadFromTheKernelsFileWithoutItsNewline) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/proc/sys/kernel/random", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically(std::string(kBootIdPath), "b-1\n", 0444).ok());
  EXPECT_EQ(*ReadBootId(files), "b-1");
}

TEST(BootId, IsNeverEmpty) {
  FakeFileSystem files;
  EXPECT_EQ(ReadBootId(files).status().code(), Code::kNotFound);
  ASSERT_TRUE(files.MakeDirectories("/proc/sys/kernel/random", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically(std::string(kBootIdPath), "\n", 0444).ok());
  EXPECT_EQ(ReadBootId(files).status().code(), Code::kDataLoss);
}

TEST(BootTime, IsALineOfTheKernelsStatistics) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/proc", 0755).ok());
  ASSERT_TRUE(
      files.WriteAtomically("/proc/stat", "cpu 1 2\nctxt 7\nbtime 1795269731\nx\n", 0444).ok());
  EXPECT_EQ(ReadBootTime(files), WallTime(std::chrono::seconds(1'795'269'731)));
}

TEST(BootTime, IsUnknownWhereItCannotBeRead) {
  FakeFileSystem files;
  EXPECT_EQ(ReadBootTime(files), std::nullopt);
  ASSERT_TRUE(files.MakeDirectories("/proc", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically("/proc/stat", "cpu 1\nbtime soon\n", 0444).ok());
  EXPECT_EQ(ReadBootTime(files), std::nullopt);
}

}  // namespace
}  // namespace galen
