#include "base/files/posix_file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files/test_temporary_directory.h"

namespace galen {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST(PosixFileSystem, GivesExactlyTheModeThatWasAskedFor) {
  const TemporaryDirectory directory;
  PosixFileSystem files;
  const mode_t before = ::umask(0077);
  EXPECT_TRUE(files.WriteAtomically(directory.Path("public"), "x", 0644).ok());
  ::umask(before);
  EXPECT_EQ(ModeOf(directory.Path("public")), 0644u);
  EXPECT_TRUE(files.OpenAppend(directory.Path("private")).ok());
  EXPECT_EQ(ModeOf(directory.Path("private")), 0600u);
}

TEST(PosixFileSystem, LeavesNoTemporaryFileBehind) {
  const TemporaryDirectory directory;
  PosixFileSystem files;
  EXPECT_TRUE(files.WriteAtomically(directory.Path("file"), "x", 0600).ok());
  EXPECT_TRUE(files.MakeDirectories(directory.Path("taken"), 0755).ok());
  EXPECT_FALSE(files.WriteAtomically(directory.Path("taken"), "x", 0600).ok());
  EXPECT_EQ(*files.List(directory.path()), (std::vector<std::string>{"file", "taken"}));
}

TEST(PosixFileSystem, PipeWithoutWriterReadsAsEmptyInsteadOfHanging) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo(directory.Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(*PosixFileSystem().Read(directory.Path("pipe")), "");
}

TEST(PosixFileSystem, ReadsFilesWhoseSizeIsNotKnown) {
  const auto status = PosixFileSystem().Read("/proc/self/status");
  ASSERT_TRUE(status.ok());
  EXPECT_NE(status->find("Pid:"), std::string::npos);
}

TEST(PosixFileSystem, EndlessFileIsRefusedInsteadOfFillingTheMemory) {
  const auto zeros = PosixFileSystem().Read("/dev/zero");
  EXPECT_EQ(zeros.status().code(), Code::kResourceExhausted);
}

TEST(PosixFileSystem, FullDiskIsResourceExhausted) {
  auto file = PosixFileSystem().OpenAppend("/dev/full");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Append("x").code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace galen
