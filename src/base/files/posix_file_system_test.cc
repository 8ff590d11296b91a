#include "base/files/posix_file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "base/fd.h"
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

// Until it is told to end, with a copy of every descriptor, as a library's fork without exec has.
class ForkedProcess {
 public:
  explicit ForkedProcess(const std::function<void()>& first = [] {}) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Fd read(ends[0]);
    alive_ = Fd(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    alive_.Reset();
    first();
    char byte = 0;
    ::_exit(static_cast<int>(::read(read.get(), &byte, 1)));
  }
  ~ForkedProcess() { WaitForEnd(); }
  void WaitForEnd() {
    alive_.Reset();
    if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  Fd alive_;
  pid_t pid_ = 0;
};

TEST(PosixFileSystem, ALockIsFreeWhenItsHolderLetsItGoThoughAForkedProcessHasItsDescriptor) {
  const TemporaryDirectory directory;
  PosixFileSystem files;
  auto lock = files.TryLock(directory.Path("lock"));
  ASSERT_TRUE(lock.ok() && *lock);
  const ForkedProcess other;
  lock->reset();
  const auto next = files.TryLock(directory.Path("lock"));
  EXPECT_TRUE(next.ok() && *next);
}

TEST(PosixFileSystem, ALockStaysItsHoldersWhenAForkedProcessDropsItsCopy) {
  const TemporaryDirectory directory;
  PosixFileSystem files;
  auto lock = files.TryLock(directory.Path("lock"));
  ASSERT_TRUE(lock.ok() && *lock);
  ForkedProcess other([&] { lock->reset(); });
  other.WaitForEnd();
  const auto next = files.TryLock(directory.Path("lock"));
  EXPECT_TRUE(next.ok() && !*next);
}

}  // namespace
}  // namespace galen
