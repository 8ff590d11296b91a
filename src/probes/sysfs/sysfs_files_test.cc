// What all SysfsFiles promise: one suite, run on a real directory and on the fake tree; and what
// only the kernel's files do.
#include "probes/sysfs/sysfs_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
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
  std::optional<SysfsDirectory> d = this->files().Open({.path = this->Path("d")});
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
  EXPECT_FALSE(this->files().Open({.path = this->Path("e")}));
  EXPECT_FALSE(this->files().Open({.path = this->Path("d/f")}));
}

TYPED_TEST(SysfsContract, AnOpenDirectoryShowsAFileThatVanishesAndComesAgain) {
  this->place_.Put("d/f", "16\n");
  this->place_.Put("d/g", "1\n");
  std::optional<SysfsDirectory> d = this->files().Open({.path = this->Path("d")});
  EXPECT_EQ(*this->files().ReadIn(*d, "f"), "16\n");
  this->place_.Remove("d/f");
  EXPECT_EQ(this->files().ReadIn(*d, "f").status().code(), Code::kNotFound);
  this->place_.Put("d/f", "8\n");
  EXPECT_EQ(*this->files().ReadIn(*d, "f"), "8\n");
}

TEST(RealSysfs, ADirectoryInTheOnesPlaceIsReadOnceItIsOpenedAnew) {
  OnDisk place;
  place.Put("d/f", "16\n");
  std::optional<SysfsDirectory> before = place.files.Open({.path = place.root + "/d"});
  std::filesystem::rename(place.root + "/d", place.root + "/gone");
  EXPECT_FALSE(place.files.Open({.path = place.root + "/d"}));
  place.Put("d/f", "8\n");
  EXPECT_EQ(*place.files.ReadIn(*before, "f"), "16\n") << "one look is at one device";
  std::optional<SysfsDirectory> after = place.files.Open({.path = place.root + "/d"});
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
  std::optional<SysfsDirectory> d = place.files.Open({.path = place.root + "/d"});
  const bool missing = place.files.Open({.path = place.root + "/e"}).has_value();
  const Status refused = place.files.ReadIn(*d, "f").status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_TRUE(d);
  EXPECT_FALSE(missing);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.code(), Code::kNotFound) << "it must not pass for a file that is missing";
  EXPECT_EQ(*place.files.ReadIn(*d, "f"), "16\n");
}

class KeptFiles : public ::testing::Test {
 protected:
  // What a look reads of d/<file>; "" where it is not there.
  std::string Look(const std::string& file) {
    directory_.path = place_.root + "/d";
    directory_.keep_open = keep_open_;
    std::optional<SysfsDirectory> opened = place_.files.Open(std::move(directory_));
    if (!opened) return "";
    directory_ = *std::move(opened);
    const StatusOr<std::string> text = place_.files.ReadIn(directory_, file);
    return text.ok() ? *text : "";
  }
  std::size_t Kept() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(directory_.kept, [](const auto& each) { return bool(each.second); }));
  }

  OnDisk place_;
  SysfsDirectory directory_;
  std::size_t keep_open_ = 8;
};

TEST_F(KeptFiles, ShowWhatIsWrittenIntoThem) {
  place_.Put("d/f", "1\n");
  for (int look = 0; look < 2; ++look) EXPECT_EQ(Look("f"), "1\n");
  EXPECT_EQ(Kept(), 1u) << "from the second look on";
  place_.Put("d/f", "2\n");
  EXPECT_EQ(Look("f"), "2\n");
  EXPECT_EQ(Kept(), 1u);
}

TEST_F(KeptFiles, AreNotReadInThePlaceOfWhatHasTheirNameNow) {
  place_.Put("d/f", "1\n");
  for (int look = 0; look < 2; ++look) EXPECT_EQ(Look("f"), "1\n");
  place_.Put("d/new", "2\n");
  std::filesystem::rename(place_.root + "/d/new", place_.root + "/d/f");
  EXPECT_EQ(Look("f"), "2\n");
  for (int look = 0; look < 2; ++look) EXPECT_EQ(Look("f"), "2\n");
  std::filesystem::rename(place_.root + "/d/f", place_.root + "/away");
  EXPECT_EQ(Look("f"), "");
}

TEST_F(KeptFiles, AreNotThoseOfADirectoryThatWentAway) {
  place_.Put("d/f", "1\n");
  for (int look = 0; look < 2; ++look) EXPECT_EQ(Look("f"), "1\n");
  std::filesystem::rename(place_.root + "/d", place_.root + "/away");
  EXPECT_EQ(Look("f"), "");
  place_.Put("d/f", "2\n");
  EXPECT_EQ(Look("f"), "2\n");
}

TEST_F(KeptFiles, AreNoneBehindALinkOrAFolder) {
  place_.Put("d/below/f", "1\n");
  place_.Put("e/f", "2\n");
  place_.Link("d/link", "e/f");
  for (int look = 0; look < 3; ++look) {
    EXPECT_EQ(Look("below/f"), "1\n");
    EXPECT_EQ(Look("link"), "2\n");
  }
  EXPECT_EQ(Kept(), 0u);
  std::filesystem::remove(place_.root + "/d/link");
  place_.Link("d/link", "d/below/f");
  EXPECT_EQ(Look("link"), "1\n");
}

// Opened twice, it would lose what its writer gave to whoever opened it first.
TEST_F(KeptFiles, AreNoPipes) {
  place_.Put("d/f", "1\n");
  ASSERT_EQ(::mkfifo((place_.root + "/d/pipe").c_str(), 0600), 0);
  for (int look = 0; look < 2; ++look) Look("f");
  std::thread writer([&] { std::ofstream(place_.root + "/d/pipe") << "7\n"; });
  EXPECT_EQ(Look("pipe"), "7\n");
  writer.join();
}

TEST_F(KeptFiles, AreNoMoreThanMayBeOpen) {
  keep_open_ = 1;
  place_.Put("d/f", "1\n");
  place_.Put("d/g", "2\n");
  for (int look = 0; look < 3; ++look) EXPECT_EQ(Look("f") + Look("g"), "1\n2\n");
  EXPECT_EQ(Kept(), 1u);
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
