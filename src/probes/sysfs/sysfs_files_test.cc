// What all SysfsFiles promise: one suite, run on a real directory and on the fake tree; and what
// only the kernel's files do.
#include "probes/sysfs/sysfs_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
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
  void Remove(const std::string& name) { std::filesystem::remove(directory.Path(name)); }
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
  void Remove(const std::string& name) { files.files.erase(root + "/" + name); }
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

TYPED_TEST(SysfsContract, ReadsTheFilesOfADirectoryThatWasOpened) {
  this->place_.Put("d/f", "16\n");
  this->place_.Put("d/below/g", "17\n");
  this->place_.Put("d/more", std::string(kSysfsFileBytesMax + 1, '1'));
  const std::optional<SysfsDirectory> d = this->files().Open(this->Path("d"));
  ASSERT_TRUE(d);
  EXPECT_EQ(*this->files().ReadIn(*d, "f"), "16\n");
  EXPECT_EQ(*this->files().ReadIn(*d, "below/g"), "17\n");
  EXPECT_EQ(this->files().ReadIn(*d, "g").status().code(), Code::kNotFound);
  EXPECT_EQ(this->files().ReadIn(*d, "more").status().code(), Code::kResourceExhausted);
  const Status directory = this->files().ReadIn(*d, "below").status();
  EXPECT_EQ(directory, this->files().Read(this->Path("d/below")).status()) << "with the whole path";
  EXPECT_FALSE(directory.ok());
}

TYPED_TEST(SysfsContract, WhatIsNoDirectoryCannotBeOpened) {
  this->place_.Put("d/f", "16\n");
  EXPECT_FALSE(this->files().Open(this->Path("e")));
  EXPECT_FALSE(this->files().Open(this->Path("d/f")));
}

TYPED_TEST(SysfsContract, AnOpenDirectoryShowsAFileThatVanishesAndComesAgain) {
  this->place_.Put("d/f", "16\n");
  this->place_.Put("d/g", "1\n");
  const std::optional<SysfsDirectory> d = this->files().Open(this->Path("d"));
  EXPECT_EQ(*this->files().ReadIn(*d, "f"), "16\n");
  this->place_.Remove("d/f");
  EXPECT_EQ(this->files().ReadIn(*d, "f").status().code(), Code::kNotFound);
  this->place_.Put("d/f", "8\n");
  EXPECT_EQ(*this->files().ReadIn(*d, "f"), "8\n");
}

TEST(RealSysfs, ADirectoryInTheOnesPlaceIsReadOnceItIsOpenedAnew) {
  OnDisk place;
  place.Put("d/f", "16\n");
  const std::optional<SysfsDirectory> before = place.files.Open(place.root + "/d");
  std::filesystem::rename(place.root + "/d", place.root + "/gone");
  EXPECT_FALSE(place.files.Open(place.root + "/d"));
  place.Put("d/f", "8\n");
  EXPECT_EQ(*place.files.ReadIn(*before, "f"), "16\n") << "one look is at one device";
  const std::optional<SysfsDirectory> after = place.files.Open(place.root + "/d");
  EXPECT_EQ(*place.files.ReadIn(*after, "f"), "8\n");
}

TEST(RealSysfs, ADirectoryIsThereThoughNoDescriptorIs) {
  OnDisk place;
  place.Put("d/f", "16\n");
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit none = usual;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::optional<SysfsDirectory> d = place.files.Open(place.root + "/d");
  const bool missing = place.files.Open(place.root + "/e").has_value();
  const Status refused = place.files.ReadIn(*d, "f").status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_TRUE(d);
  EXPECT_FALSE(missing);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.code(), Code::kNotFound) << "it must not pass for a file that is missing";
  EXPECT_EQ(*place.files.ReadIn(*d, "f"), "16\n");
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
