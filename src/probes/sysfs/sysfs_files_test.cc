// What all SysfsFiles promise: one suite, run on a real directory and on the fake tree; and what
// only the kernel's files do.
#include "probes/sysfs/sysfs_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/files/test_temporary_directory.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

struct OnDisk {
  void Put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(directory.Path(name)).parent_path());
    std::ofstream(directory.Path(name)) << text;
  }
  void Link(const std::string& name, const std::string& to) {
    std::filesystem::create_symlink(directory.Path(to), directory.Path(name));
  }
  TemporaryDirectory directory;
  RealSysfs files;
  std::string root = std::filesystem::canonical(directory.path());
};

struct InMemory {
  void Put(const std::string& name, const std::string& text) {
    files.files[root + "/" + name] = text;
  }
  void Link(const std::string& name, const std::string& to) {
    files.links[root + "/" + name] = root + "/" + to;
  }
  FakeSysfs files;
  std::string root = "/sys";
};

template <typename Place>
class SysfsContract : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return place_.root + "/" + name; }
  const SysfsFiles& files() const { return place_.files; }

  Place place_;
};

using Places = testing::Types<OnDisk, InMemory>;
TYPED_TEST_SUITE(SysfsContract, Places);

TYPED_TEST(SysfsContract, GivesTheTextOfAFile) {
  this->place_.Put("d/f", "16\n");
  EXPECT_EQ(*this->files().Read(this->Path("d/f")), "16\n");
}

TYPED_TEST(SysfsContract, WhatIsNotThereIsNotFound) {
  this->place_.Put("d/f", "16\n");
  EXPECT_EQ(this->files().Read(this->Path("d/g")).status().code(), Code::kNotFound);
  EXPECT_EQ(this->files().List(this->Path("e")).status().code(), Code::kNotFound);
  EXPECT_FALSE(this->files().IsDirectory(this->Path("e")));
  EXPECT_EQ(this->files().Resolve(this->Path("e")), "");
}

// A rule that names a directory in the place of a file is told so; it is not an attribute that the
// device lacks.
TYPED_TEST(SysfsContract, ADirectoryIsNoFileThatIsMissing) {
  this->place_.Put("d/f", "16\n");
  const Status status = this->files().Read(this->Path("d")).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.code(), Code::kNotFound);
}

TYPED_TEST(SysfsContract, ListsNamesInOrderAndOnce) {
  this->place_.Put("b/f", "1");
  this->place_.Put("b/g", "1");
  this->place_.Put("a", "1");
  EXPECT_THAT(*this->files().List(this->place_.root), ::testing::ElementsAre("a", "b"));
  EXPECT_TRUE(this->files().IsDirectory(this->Path("b")));
  EXPECT_FALSE(this->files().IsDirectory(this->Path("a")));
}

TYPED_TEST(SysfsContract, ResolvesALinkAndWhatIsNone) {
  this->place_.Put("d/f", "16\n");
  this->place_.Link("link", "d");
  EXPECT_EQ(this->files().Resolve(this->Path("link")), this->Path("d"));
  EXPECT_EQ(this->files().Resolve(this->Path("d")), this->Path("d"));
  EXPECT_EQ(this->files().Resolve(this->Path("d/f")), this->Path("d/f"));
}

TYPED_TEST(SysfsContract, RefusesAFileThatIsTooLongForAnAttribute) {
  this->place_.Put("most", std::string(kSysfsFileBytesMax, '1'));
  this->place_.Put("more", std::string(kSysfsFileBytesMax + 1, '1'));
  EXPECT_EQ(this->files().Read(this->Path("most"))->size(), kSysfsFileBytesMax);
  EXPECT_EQ(this->files().Read(this->Path("more")).status().code(), Code::kResourceExhausted);
}

// As a driver's code may: what stands in front of it is a thread of its own.
TEST(RealSysfs, WaitsForAPipeUntilSomebodyWrites) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo(directory.Path("pipe").c_str(), 0600), 0);
  StatusOr<std::string> text = Unavailable("not read");
  std::thread reader([&] { text = RealSysfs().Read(directory.Path("pipe")); });
  std::ofstream(directory.Path("pipe")) << "7\n";
  reader.join();
  EXPECT_EQ(*text, "7\n");
}

}  // namespace
}  // namespace galen::probes
