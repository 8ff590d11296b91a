#include "base/files/fake_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace galen {
namespace {

using UnsyncedFiles = FakeDisk::Unsynced;

class FakeDiskTest : public testing::Test {
 protected:
  // The file, made, and both it and its name on the platter.
  std::unique_ptr<DiskFile> Synced(const std::string& path, std::string_view bytes) {
    auto file = *disk_.OpenAppend(path);
    EXPECT_TRUE(file->Write(bytes).ok());
    EXPECT_TRUE(file->Sync().ok());
    EXPECT_TRUE(disk_.SyncDirectory("/").ok());
    return file;
  }
  std::string Read(const std::string& path) {
    const auto bytes = disk_.Read(path);
    return bytes.ok() ? *bytes : "<" + std::string(ToString(bytes.status().code())) + ">";
  }

  FakeDisk disk_;
  Random chance_{1};
};

TEST_F(FakeDiskTest, PowerCutTakesBytesThatWereNotSynced) {
  const auto file = Synced("/log", "synced");
  ASSERT_TRUE(file->Write(" lost").ok());
  EXPECT_EQ(Read("/log"), "synced lost");
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(Read("/log"), "synced");
}

TEST_F(FakeDiskTest, PowerCutMayAlsoKeepThem) {
  const auto file = Synced("/log", "synced");
  ASSERT_TRUE(file->Write(" kept").ok());
  disk_.CutPower(UnsyncedFiles::kKept, chance_);
  EXPECT_EQ(Read("/log"), "synced kept");
}

TEST_F(FakeDiskTest, KilledProcessLosesNothingThatItWrote) {
  const auto file = Synced("/log", "synced");
  ASSERT_TRUE(file->Write(" cached").ok());
  disk_.StopAfter(0);
  EXPECT_EQ(file->Sync().code(), Code::kUnavailable);
  disk_.Restart();
  EXPECT_EQ(Read("/log"), "synced cached");
}

TEST_F(FakeDiskTest, SyncedBytesOfAFileWhoseNameWasNotSyncedAreLost) {
  const auto file = *disk_.OpenAppend("/log");
  ASSERT_TRUE(file->Write("x").ok());
  ASSERT_TRUE(file->Sync().ok());
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(Read("/log"), "<NotFound>");
}

TEST_F(FakeDiskTest, RenameAndRemovalComeBackUnlessTheDirectoryWasSynced) {
  Synced("/a", "a");
  Synced("/b", "b");
  ASSERT_TRUE(disk_.Rename("/a", "/new").ok());
  ASSERT_TRUE(disk_.Remove("/b").ok());
  EXPECT_EQ(Read("/new"), "a");
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(*disk_.List("/"), (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(disk_.Rename("/a", "/new").ok());
  ASSERT_TRUE(disk_.Remove("/b").ok());
  ASSERT_TRUE(disk_.SyncDirectory("/").ok());
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(*disk_.List("/"), std::vector<std::string>{"new"});
}

TEST_F(FakeDiskTest, FilesGoWithADirectoryWhoseNameWasNotSynced) {
  ASSERT_TRUE(disk_.MakeDirectory("/state", 0700).ok());
  const auto file = *disk_.OpenAppend("/state/log");
  ASSERT_TRUE(file->Write("x").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(disk_.SyncDirectory("/state").ok());
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(disk_.CheckDirectory("/state").code(), Code::kNotFound);
  EXPECT_EQ(Read("/state/log"), "<NotFound>");
}

TEST_F(FakeDiskTest, ChanceTearsAtAnyByteAndKeepsLaterWritesWithoutEarlierOnes) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    disk_ = FakeDisk();
    Random chance(seed);
    const auto file = Synced("/log", ".");
    ASSERT_TRUE(file->Write("ab").ok());
    ASSERT_TRUE(file->Write("cd").ok());
    disk_.CutPower(UnsyncedFiles::kChance, chance);
    const std::string left = Read("/log");
    ASSERT_EQ(left[0], '.') << "what was synced stays";
    for (std::size_t i = 1; i < left.size(); ++i) {
      ASSERT_TRUE(left[i] == '\0' || left[i] == ".abcd"[i]) << "no byte is invented";
    }
    seen.insert(left);
  }
  const auto zeros = [](std::string text) {
    std::replace(text.begin(), text.end(), '0', '\0');
    return text;
  };
  for (const char* text : {".", ".a", ".ab", ".abc", ".abcd", ".00", ".0b", ".00cd", ".0000"}) {
    EXPECT_TRUE(seen.contains(zeros(text))) << text;
  }
}

TEST_F(FakeDiskTest, ChanceKeepsChangesOfNamesInAnyCombination) {
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    disk_ = FakeDisk();
    Random chance(seed);
    Synced("/a", "a");
    ASSERT_TRUE(disk_.OpenAppend("/b").ok());
    ASSERT_TRUE(disk_.Remove("/a").ok());
    disk_.CutPower(UnsyncedFiles::kChance, chance);
    seen.insert(*disk_.List("/"));
  }
  EXPECT_EQ(seen.size(), 4u) << "neither, either and both";
}

TEST_F(FakeDiskTest, ReplacedFileIsTheOldOneOrTheNewOne) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    disk_ = FakeDisk();
    Random chance(seed);
    Synced("/file", "old");
    Synced("/fresh", "new");
    ASSERT_TRUE(disk_.Rename("/fresh", "/file").ok());
    disk_.CutPower(UnsyncedFiles::kChance, chance);
    const bool renamed = Read("/fresh") == "<NotFound>";
    EXPECT_EQ(Read("/file"), renamed ? "new" : "old");
  }
}

TEST_F(FakeDiskTest, FillsUpInTheMiddleOfAWrite) {
  const auto file = Synced("/log", "12");
  disk_.SetRoom(5);
  EXPECT_EQ(*file->Write("3456"), 3u);
  EXPECT_EQ(file->Write("6").status().code(), Code::kResourceExhausted);
  EXPECT_EQ(Read("/log"), "12345");
  ASSERT_TRUE(disk_.OpenAppend("/other").ok()) << "names cost nothing";
  ASSERT_TRUE(disk_.Remove("/log").ok());
  const auto other = *disk_.OpenAppend("/other");
  EXPECT_EQ(*other->Write("abc"), 3u) << "removal makes room";
}

TEST_F(FakeDiskTest, FailedSyncForgetsAndTheNextOneSaysNothingOfIt) {
  const auto file = Synced("/log", "1");
  ASSERT_TRUE(file->Write("2").ok());
  disk_.FailSync();
  EXPECT_EQ(file->Sync().code(), Code::kUnknown);
  EXPECT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Write("3").ok());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_EQ(Read("/log"), "123");
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(Read("/log"), std::string("1\0003", 3));
}

TEST_F(FakeDiskTest, FailedSyncOfADirectoryForgetsItsNames) {
  Synced("/log", "1");
  ASSERT_TRUE(disk_.Rename("/log", "/old").ok());
  disk_.FailSync();
  EXPECT_FALSE(disk_.SyncDirectory("/").ok());
  EXPECT_TRUE(disk_.SyncDirectory("/").ok());
  disk_.CutPower(UnsyncedFiles::kLost, chance_);
  EXPECT_EQ(*disk_.List("/"), std::vector<std::string>{"log"});
}

TEST_F(FakeDiskTest, StopsAtTheChosenOperationAndSaysSo) {
  const auto file = Synced("/log", ".");
  bool stopped = false;
  disk_.StopAfter(1, [&stopped] { stopped = true; });
  EXPECT_TRUE(file->Write("ab").ok());
  EXPECT_FALSE(stopped);
  EXPECT_EQ(file->Write("cdef").status().code(), Code::kUnavailable);
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(disk_.stopped());
  EXPECT_EQ(disk_.Read("/log").status().code(), Code::kUnavailable);
  EXPECT_EQ(disk_.List("/").status().code(), Code::kUnavailable);
  disk_.Restart();
  EXPECT_EQ(Read("/log"), ".abcd") << "the write was under way";
}

}  // namespace
}  // namespace galen
