// What every FileSystem promises: one suite, run on the real disk, on the fake file system and on
// the simulated disk.
#include "base/files/file_system.h"

#include <gtest/gtest.h>

#include "base/files/fake_disk.h"
#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"

namespace galen {
namespace {

struct OnDisk {
  TemporaryDirectory directory;
  PosixFileSystem files;
  std::string root = directory.path();
};

struct InMemory {
  InMemory() { EXPECT_TRUE(files.MakeDirectories("/state", 0755).ok()); }
  FakeFileSystem files;
  std::string root = "/state";
};

struct OnFakeDisk {
  OnFakeDisk() { EXPECT_TRUE(files.MakeDirectories("/state", 0755).ok()); }
  FakeDisk disk;
  DurableFileSystem files{disk};
  std::string root = "/state";
};

template <typename Place>
class FileSystemContract : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return place_.root + "/" + name; }
  FileSystem& files() { return place_.files; }
  void Write(const std::string& name, std::string_view bytes) {
    ASSERT_EQ(files().WriteAtomically(Path(name), bytes), OkStatus());
  }
  std::string Read(const std::string& name) {
    const StatusOr<std::string> bytes = files().Read(Path(name));
    return bytes.ok() ? *bytes : ToString(bytes.status().code());
  }

 private:
  static std::string ToString(Code code) { return "<" + std::string(galen::ToString(code)) + ">"; }
  Place place_;
};

using Places = testing::Types<OnDisk, InMemory, OnFakeDisk>;
TYPED_TEST_SUITE(FileSystemContract, Places);

TYPED_TEST(FileSystemContract, WrittenFileReadsBackWhole) {
  const std::string bytes("a\0b\xff\n", 5);
  this->Write("file", bytes);
  EXPECT_EQ(this->Read("file"), bytes);
  this->Write("file", "");
  EXPECT_EQ(this->Read("file"), "");
}

TYPED_TEST(FileSystemContract, MissingFileIsNotFoundAndNamed) {
  const auto bytes = this->files().Read(this->Path("none"));
  EXPECT_EQ(bytes.status().code(), Code::kNotFound);
  EXPECT_NE(bytes.status().message().find(this->Path("none")), std::string::npos);
}

TYPED_TEST(FileSystemContract, AppendGrowsTheFileAcrossOpenings) {
  for (const char* part : {"one ", "two"}) {
    auto file = this->files().OpenAppend(this->Path("log"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE((*file)->Append(part).ok());
    EXPECT_TRUE((*file)->Sync().ok());
  }
  EXPECT_EQ(this->Read("log"), "one two");
}

TYPED_TEST(FileSystemContract, OpenFileFollowsItsNewName) {
  auto file = this->files().OpenAppend(this->Path("log"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(this->files().Rename(this->Path("log"), this->Path("old")).ok());
  EXPECT_TRUE((*file)->Append("late").ok());
  EXPECT_EQ(this->Read("old"), "late");
  EXPECT_EQ(this->Read("log"), "<NotFound>");
}

TYPED_TEST(FileSystemContract, RenameReplacesWhatIsThere) {
  this->Write("a", "new");
  this->Write("b", "old");
  EXPECT_TRUE(this->files().Rename(this->Path("a"), this->Path("b")).ok());
  EXPECT_EQ(this->Read("b"), "new");
  const Status again = this->files().Rename(this->Path("a"), this->Path("b"));
  EXPECT_EQ(again.code(), Code::kNotFound);
}

TYPED_TEST(FileSystemContract, RemovingAFileThatIsNotThereIsFine) {
  this->Write("a", "x");
  EXPECT_TRUE(this->files().Remove(this->Path("a")).ok());
  EXPECT_TRUE(this->files().Remove(this->Path("a")).ok());
  EXPECT_EQ(this->Read("a"), "<NotFound>");
}

TYPED_TEST(FileSystemContract, ListsNamesInOrderWithoutWhatIsBelow) {
  EXPECT_TRUE(this->files().MakeDirectories(this->Path("m/deep/er")).ok());
  this->Write("z", "");
  this->Write("a", "");
  this->Write("m/inside", "");
  const auto names = this->files().List(this->Path("").substr(0, this->Path("").size() - 1));
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "m", "z"}));
  EXPECT_EQ(*this->files().List(this->Path("m")), (std::vector<std::string>{"deep", "inside"}));
}

TYPED_TEST(FileSystemContract, WritingBelowAMissingDirectoryIsNotFound) {
  EXPECT_EQ(this->files().WriteAtomically(this->Path("no/file"), "x").code(), Code::kNotFound);
  EXPECT_EQ(this->files().OpenAppend(this->Path("no/file")).status().code(), Code::kNotFound);
  EXPECT_EQ(this->files().List(this->Path("no")).status().code(), Code::kNotFound);
}

TYPED_TEST(FileSystemContract, ALockHasOneHolderAtATimeAndLeavesItsFile) {
  auto first = this->files().TryLock(this->Path("lock"));
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_NE(*first, nullptr);
  const auto second = this->files().TryLock(this->Path("lock"));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, nullptr);
  EXPECT_NE(*this->files().TryLock(this->Path("another")), nullptr);
  first->reset();
  EXPECT_EQ(this->Read("lock"), "");
  EXPECT_NE(*this->files().TryLock(this->Path("lock")), nullptr);
  EXPECT_EQ(this->files().TryLock(this->Path("no/lock")).status().code(), Code::kNotFound);
}

TYPED_TEST(FileSystemContract, DirectoriesAreNoFiles) {
  EXPECT_TRUE(this->files().MakeDirectories(this->Path("d")).ok());
  EXPECT_TRUE(this->files().MakeDirectories(this->Path("d")).ok());
  this->Write("f", "x");
  EXPECT_FALSE(this->files().Read(this->Path("d")).ok());
  EXPECT_FALSE(this->files().Remove(this->Path("d")).ok());
  EXPECT_FALSE(this->files().OpenAppend(this->Path("d")).ok());
  EXPECT_EQ(this->files().MakeDirectories(this->Path("f")).code(), Code::kInvalidArgument);
  EXPECT_EQ(this->files().MakeDirectories(this->Path("f/g")).code(), Code::kInvalidArgument);
  EXPECT_EQ(this->files().List(this->Path("f")).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen
