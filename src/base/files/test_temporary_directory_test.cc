#include "base/files/test_temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/posix_file_system.h"

namespace galen {
namespace {

TEST(TemporaryDirectory, IsThereAloneAndGoesWithAllItHolds) {
  std::string path;
  {
    const TemporaryDirectory first;
    const TemporaryDirectory second;
    EXPECT_NE(first.path(), second.path());
    path = first.path();
    PosixFileSystem files;
    ASSERT_TRUE(files.MakeDirectories(first.Path("a/b"), 0755).ok());
    ASSERT_TRUE(files.WriteAtomically(first.Path("a/b/c"), "x", 0600).ok());
    EXPECT_TRUE(std::filesystem::exists(path + "/a/b/c"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace galen
