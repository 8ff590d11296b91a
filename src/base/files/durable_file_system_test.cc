// What a power cut leaves of each promise, at every operation of the disk below. The promises
// themselves are in file_system_test.cc.
#include <gtest/gtest.h>

#include <functional>

#include "base/files/fake_disk.h"
#include "base/files/posix_file_system.h"

namespace galen {
namespace {

using Unsynced = FakeDisk::Unsynced;

// Runs `act` on a fresh disk made by `prepare`, once for every operation at which the machine can
// stop and every way in which it can come back, and lets `check` look at what is left. `done` says
// whether `act` had answered OK before.
class EveryPoint {
 public:
  std::function<void(FileSystem&)> prepare;
  std::function<bool(FileSystem&)> act;
  std::function<void(FileSystem&, bool done, const std::string& where)> check;

  void Run() const {
    for (std::uint64_t point = 0;; ++point) {
      bool reached_the_end = false;
      for (std::uint64_t seed = 0; seed < 40; ++seed) reached_the_end = RunOne(point, seed);
      if (!reached_the_end) continue;
      EXPECT_GT(point, 1u) << "nothing was written";
      return;
    }
  }

 private:
  bool RunOne(std::uint64_t point, std::uint64_t seed) const {
    FakeDisk disk;
    DurableFileSystem files(disk);
    Random chance(seed);
    prepare(files);
    disk.StopAfter(point);
    const bool done = act(files);
    const bool reached_the_end = !disk.stopped();
    if (seed == 0) {
      disk.Restart();
    } else {
      disk.CutPower(seed == 1   ? Unsynced::kLost
                    : seed == 2 ? Unsynced::kKept
                                : Unsynced::kChance,
                    chance);
    }
    check(files, done, fmt::format("stopped at operation {}, seed {}", point, seed));
    return reached_the_end;
  }
};

std::string ReadOr(FileSystem& files, const std::string& path, const std::string& none) {
  const StatusOr<std::string> bytes = files.Read(path);
  return bytes.ok() ? *bytes : none;
}

TEST(DurableFileSystem, AtomicWriteIsOldOrNewAtEveryPointAndNewOnceAnswered) {
  EveryPoint every;
  every.prepare = [](FileSystem& files) {
    ASSERT_TRUE(files.MakeDirectories("/state").ok());
    ASSERT_TRUE(files.WriteAtomically("/state/file", "the old text").ok());
  };
  every.act = [](FileSystem& files) {
    return files.WriteAtomically("/state/file", "the new text, longer").ok();
  };
  every.check = [](FileSystem& files, bool done, const std::string& where) {
    const std::string left = ReadOr(files, "/state/file", "none");
    if (done) {
      EXPECT_EQ(left, "the new text, longer") << where;
    } else {
      EXPECT_TRUE(left == "the old text" || left == "the new text, longer")
          << where << ": " << left;
    }
  };
  every.Run();
}

TEST(DurableFileSystem, FirstAtomicWriteIsAllOrNothingAtEveryPoint) {
  EveryPoint every;
  every.prepare = [](FileSystem& files) { ASSERT_TRUE(files.MakeDirectories("/state").ok()); };
  every.act = [](FileSystem& files) { return files.WriteAtomically("/state/file", "text").ok(); };
  every.check = [](FileSystem& files, bool done, const std::string& where) {
    const std::string left = ReadOr(files, "/state/file", "none");
    EXPECT_TRUE(left == "text" || (!done && left == "none")) << where << ": " << left;
  };
  every.Run();
}

TEST(DurableFileSystem, SyncedAppendIsThereAtEveryPoint) {
  std::size_t synced = 0;
  EveryPoint every;
  every.prepare = [&](FileSystem& files) {
    synced = 0;
    ASSERT_TRUE(files.MakeDirectories("/state").ok());
  };
  every.act = [&](FileSystem& files) {
    auto file = files.OpenAppend("/state/log");
    for (std::size_t i = 1; i <= 3 && file.ok(); ++i) {
      if (!(*file)->Append("record.").ok() || !(*file)->Sync().ok()) return false;
      synced = 7 * i;
    }
    return file.ok();
  };
  every.check = [&](FileSystem& files, bool, const std::string& where) {
    const std::string left = ReadOr(files, "/state/log", "");
    ASSERT_GE(left.size(), synced) << where;
    EXPECT_EQ(left.substr(0, synced), std::string("record.record.record.").substr(0, synced))
        << where;
  };
  every.Run();
}

TEST(DurableFileSystem, RenamedFileIsUnderOneOfItsNamesAndUnderTheNewOneOnceAnswered) {
  EveryPoint every;
  every.prepare = [](FileSystem& files) {
    ASSERT_TRUE(files.MakeDirectories("/state").ok());
    ASSERT_TRUE(files.WriteAtomically("/state/a", "text").ok());
  };
  every.act = [](FileSystem& files) { return files.Rename("/state/a", "/state/b").ok(); };
  every.check = [](FileSystem& files, bool done, const std::string& where) {
    const std::string renamed = ReadOr(files, "/state/b", "none");
    EXPECT_TRUE(renamed == "text" || (!done && ReadOr(files, "/state/a", "none") == "text"))
        << where;
  };
  every.Run();
}

TEST(DurableFileSystem, DirectoriesThatWereMadeStayWithWhatIsInThem) {
  EveryPoint every;
  every.prepare = [](FileSystem& files) { ASSERT_TRUE(files.MakeDirectories("/var").ok()); };
  every.act = [](FileSystem& files) {
    return files.MakeDirectories("/var/lib/galen/journal").ok() &&
           files.WriteAtomically("/var/lib/galen/journal/file", "text").ok();
  };
  every.check = [](FileSystem& files, bool done, const std::string& where) {
    const std::string left = ReadOr(files, "/var/lib/galen/journal/file", "none");
    EXPECT_TRUE(left == "text" || !done) << where;
  };
  every.Run();
}

// A process that was killed between a name and its sync leaves the name in the cache: whoever finds
// it there must not take it for kept.
TEST(DurableFileSystem, DirectoriesOfAKilledProcessAreSyncedByTheNextOne) {
  for (std::uint64_t point = 0; point < 12; ++point) {
    FakeDisk disk;
    DurableFileSystem durable(disk);
    FileSystem& files = durable;
    Random chance(1);
    disk.StopAfter(point);
    static_cast<void>(files.MakeDirectories("/var/lib/galen"));
    disk.Restart();
    ASSERT_TRUE(files.MakeDirectories("/var/lib/galen").ok());
    ASSERT_TRUE(files.WriteAtomically("/var/lib/galen/file", "text").ok());
    disk.CutPower(Unsynced::kLost, chance);
    EXPECT_EQ(ReadOr(files, "/var/lib/galen/file", "none"), "text") << point;
  }
}

TEST(DurableFileSystem, FullDiskLeavesTheOldFileAndNoOther) {
  for (std::size_t room = 8; room < 20; ++room) {
    FakeDisk disk;
    DurableFileSystem durable(disk);
    FileSystem& files = durable;
    ASSERT_TRUE(files.WriteAtomically("/file", "old text").ok());
    disk.SetRoom(room);
    const Status status = files.WriteAtomically("/file", "new and longer");
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << room;
    EXPECT_EQ(*files.Read("/file"), "old text");
    EXPECT_EQ(files.List("/")->size(), 1u) << "the temporary file is gone";
  }
}

TEST(DurableFileSystem, FullDiskLeavesNoPartOfWhatWasAppended) {
  Random chance(1);
  for (std::size_t room = 4; room < 10; ++room) {
    FakeDisk disk;
    DurableFileSystem durable(disk);
    FileSystem& files = durable;
    const auto file = files.OpenAppend("/file").value();
    ASSERT_TRUE(file->Append("safe").ok());
    ASSERT_TRUE(file->Sync().ok());
    disk.SetRoom(room);
    EXPECT_EQ(file->Append("too long").code(), Code::kResourceExhausted) << room;
    EXPECT_EQ(*files.Read("/file"), "safe");
    disk.CutPower(Unsynced::kKept, chance);
    EXPECT_EQ(*files.Read("/file"), "safe");
  }
}

TEST(DurableFileSystem, FailedSyncIsAnErrorAndTheOldFileStays) {
  FakeDisk disk;
  DurableFileSystem durable(disk);
  FileSystem& files = durable;
  Random chance(1);
  ASSERT_TRUE(files.WriteAtomically("/file", "old").ok());
  disk.FailSync();
  EXPECT_FALSE(files.WriteAtomically("/file", "new").ok());
  EXPECT_EQ(*files.Read("/file"), "old");
  // Whole from the beginning, not a second sync of the same file.
  EXPECT_TRUE(files.WriteAtomically("/file", "new").ok());
  disk.CutPower(Unsynced::kLost, chance);
  EXPECT_EQ(*files.Read("/file"), "new");
}

TEST(DurableFileSystem, DirectoriesThatAreThereCostOneSyncAndNothingIsMade) {
  FakeDisk disk;
  DurableFileSystem durable(disk);
  FileSystem& files = durable;
  ASSERT_TRUE(files.MakeDirectories("/var/lib/galen").ok());
  const std::uint64_t before = disk.operations();
  EXPECT_TRUE(files.MakeDirectories("/var/lib/galen").ok());
  EXPECT_EQ(disk.operations(), before + 1);
}

}  // namespace
}  // namespace galen
