// A journal's life on a disk that keeps no more than was synced, ended at every operation of the
// disk and in every way in which a machine comes back.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/files/fake_disk.h"
#include "base/files/posix_file_system.h"
#include "base/test_rounds.h"
#include "history/journal/journal.h"
#include "history/journal/segment.h"

namespace galen::history {
namespace {

using CrashLines = std::vector<std::string>;
using Unsynced = FakeDisk::Unsynced;

constexpr const char* kCrashDirectory = "/var/lib/galen/journal";
// Ways 0 to 2 are a kill and the two extremes of a power cut; the others are chance by their
// number.
constexpr std::uint64_t kWays = 24;

// Records in order of their first coming: one that came twice counts once.
CrashLines WithoutRepeatedLines(const CrashLines& records) {
  CrashLines once;
  for (const std::string& record : records) {
    if (std::find(once.begin(), once.end(), record) == once.end()) once.push_back(record);
  }
  return once;
}

// One disk, the journal on it, and what was appended to it and acknowledged.
class Machine {
 public:
  FakeDisk& disk() { return disk_; }
  Journal& journal() { return *journal_; }

  // A process starts. False when the machine stopped meanwhile; fails the test when something that
  // was promised is missing, out of order or invented.
  bool Open(const std::string& where) {
    journal_ = nullptr;
    auto replayed = Journal::Open(files_, kCrashDirectory);
    if (!replayed.ok()) {
      EXPECT_TRUE(disk_.stopped()) << where << ": " << replayed.status().message();
      return false;
    }
    // A machine that stopped while segments were read has reported nothing that counts.
    if (disk_.stopped()) return false;
    journal_ = std::move(replayed->journal);
    const CrashLines held = WithoutRepeatedLines(replayed->records);
    EXPECT_GE(held.size(), safe_) << where << ": lost";
    EXPECT_LE(held.size(), appended_.size()) << where << ": invented";
    EXPECT_TRUE(std::equal(held.begin(), held.begin() + std::ssize(held), appended_.begin()))
        << where << ": out of order";
    // What was read is what the process goes on from, so it may not go any more.
    appended_ = held;
    safe_ = held.size();
    return !testing::Test::HasFailure();
  }

  void Append(int count) {
    for (int i = 0; i < count; ++i) {
      appended_.push_back(fmt::format("record {} of {}", ++numbered_, std::string(20, 'x')));
      ASSERT_TRUE(journal_->Append(appended_.back()).ok());
    }
  }
  void Sync() { Conclude(journal_->Sync()); }
  void Compact() { Conclude(journal_->Compact({appended_.begin(), appended_.end()})); }
  void Die() { journal_ = nullptr; }

  void ComeBack(std::uint64_t way) {
    Random chance(way);
    Die();
    if (way == 0) return disk_.Restart();
    disk_.CutPower(way == 1   ? Unsynced::kLost
                   : way == 2 ? Unsynced::kKept
                              : Unsynced::kChance,
                   chance);
  }

  // Broken segments as they lie there, and what stands beside them for a person.
  std::map<std::string, std::string> Broken() { return Files(false); }
  std::map<std::string, std::string> Quarantined() { return Files(true); }

 private:
  void Conclude(const Status& status) {
    if (status.ok()) safe_ = appended_.size();
  }

  std::map<std::string, std::string> Files(bool quarantined) {
    std::map<std::string, std::string> found;
    const auto names = files_.List(kCrashDirectory);
    if (!names.ok()) return found;
    for (const std::string& name : *names) {
      const std::string bytes = *files_.Read(std::string(kCrashDirectory) + "/" + name);
      const bool broken =
          ParseSegmentName(name) && !bytes.empty() && !ReadSegment(bytes).fault.empty();
      const bool beside = name.find(".corrupt-") != std::string::npos;
      if (quarantined ? beside : broken) found[name] = bytes;
    }
    return found;
  }

  FakeDisk disk_;
  DurableFileSystem files_{disk_};
  std::unique_ptr<Journal> journal_;
  CrashLines appended_;
  std::size_t safe_ = 0;  // how many of them were promised
  int numbered_ = 0;
};

// Three processes after each other: every one appends in groups, the second rewrites twice, and
// each but the last is killed with something unsynced. False when the machine stopped.
bool Live(Machine& machine) {
  for (int life = 0; life < 3; ++life) {
    if (!machine.Open("in its life")) return false;
    for (int round = 0; round < 4; ++round) {
      machine.Append(1 + round % 2);
      if (life == 1 && round % 2 == 1) {
        machine.Compact();
      } else {
        machine.Sync();
      }
    }
    machine.Append(2);
    if (life < 2) machine.Die();
  }
  machine.Sync();
  return !machine.disk().stopped();
}

// Calls `play` for each operation at which the life can be stopped; `play` says whether it was.
template <typename Play>
void AtEveryOperation(Play play) {
  std::uint64_t operation = 0;
  while (play(operation) && !testing::Test::HasFailure()) ++operation;
  EXPECT_GT(operation, 40u) << "a life has more operations than that";
}

TEST(JournalCrash, AtEveryOperationAndInEveryWayNothingSafeIsLost) {
  AtEveryOperation([](std::uint64_t operation) {
    bool was_stopped = false;
    for (std::uint64_t way = 0; way < kWays; ++way) {
      const std::string where = fmt::format("operation {}, way {}", operation, way);
      Machine machine;
      machine.disk().StopAfter(operation);
      was_stopped = !Live(machine);
      machine.ComeBack(way);
      if (!machine.Open(where)) return false;
      // And it goes on from there, over a power cut that takes all it may.
      machine.Append(2);
      machine.Sync();
      machine.ComeBack(1);
      if (!machine.Open(where + ", afterwards")) return false;
    }
    return was_stopped;
  });
}

// A life that ends at `operation`, a start that ends at `again`, and a start that does not. False
// when something was lost; `stopped` and `opened` say whether the first two came to their ends.
bool LiveAndStartTwice(std::uint64_t operation, std::uint64_t way, std::uint64_t again,
                       std::uint64_t second_way, bool& stopped, bool& opened) {
  Machine machine;
  machine.disk().StopAfter(operation);
  stopped = !Live(machine);
  machine.ComeBack(way);
  const std::string where = fmt::format("operation {}, way {}, then operation {}, way {}",
                                        operation, way, again, second_way);
  machine.disk().StopAfter(again);
  opened = machine.Open(where);
  machine.ComeBack(second_way);
  return machine.Open(where) && !testing::Test::HasFailure();
}

TEST(JournalCrash, AStartThatIsEndedAtEveryOperationLosesNothingEither) {
  AtEveryOperation([](std::uint64_t operation) {
    bool stopped = false;
    for (std::uint64_t way = 0; way < kWays; way += Rounds(3, 12)) {
      bool opened = false;
      for (std::uint64_t again = 0; !opened; ++again) {
        for (const std::uint64_t second_way : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
          if (!LiveAndStartTwice(operation, way, again, second_way, stopped, opened)) return false;
        }
      }
    }
    return stopped;
  });
}

TEST(JournalCrash, WhatATornSegmentHeldStandsBesideIt) {
  std::size_t broken_ones = 0;
  AtEveryOperation([&](std::uint64_t operation) {
    bool was_stopped = false;
    for (std::uint64_t way = 3; way < kWays; ++way) {
      Machine machine;
      machine.disk().StopAfter(operation);
      was_stopped = !Live(machine);
      machine.ComeBack(way);
      const auto broken = machine.Broken();
      broken_ones += broken.size();
      if (!machine.Open("after the cut")) return false;
      const auto beside = machine.Quarantined();
      for (const auto& [name, bytes] : broken) {
        EXPECT_TRUE(std::any_of(beside.begin(), beside.end(), [&](const auto& file) {
          return file.first.starts_with(name) && file.second == bytes;
        })) << name;
      }
      EXPECT_TRUE(machine.Broken().empty());
    }
    return was_stopped;
  });
  EXPECT_GT(broken_ones, 100u) << "too few to have tried anything";
}

TEST(JournalCrash, FailedSyncAtEveryPlaceLosesNothingSafe) {
  for (std::uint64_t sync = 0; sync < 60; ++sync) {
    for (std::uint64_t way = 1; way < kWays; ++way) {
      const std::string where = fmt::format("sync {}, way {}", sync, way);
      Machine machine;
      ASSERT_TRUE(machine.Open(where));
      machine.disk().FailSync(sync);
      for (int round = 0; round < 9; ++round) {
        machine.Append(2);
        if (round % 4 == 3) {
          machine.Compact();
        } else {
          machine.Sync();
        }
      }
      machine.disk().FailSync(std::nullopt);
      machine.ComeBack(way);
      ASSERT_TRUE(machine.Open(where));
    }
  }
}

TEST(JournalCrash, FailedSyncOfAStartIsSaidAndTheRecordsAreWrittenOnceMore) {
  FakeDisk disk;
  DurableFileSystem files(disk);
  Random chance(1);
  {
    auto opened = *Journal::Open(files, kCrashDirectory);
    ASSERT_TRUE(opened.journal->Append("a").ok());
    // Killed in the middle of the sync: the cache has the bytes, the platter has not.
    disk.StopAfter(3);
    EXPECT_FALSE(opened.journal->Sync().ok());
    disk.Restart();
  }
  disk.FailSync(2);  // after those of two directories
  auto opened = *Journal::Open(files, kCrashDirectory);
  EXPECT_EQ(opened.records, CrashLines{"a"});
  ASSERT_EQ(opened.notes.size(), 1u);
  EXPECT_NE(opened.notes[0].find("a power cut may lose"), std::string::npos);
  EXPECT_TRUE(opened.journal->Sync().ok());
  opened.journal = nullptr;
  disk.CutPower(Unsynced::kLost, chance);
  EXPECT_EQ(Journal::Open(files, kCrashDirectory)->records, CrashLines{"a"});
}

// A torn tail would be copied aside at the next start, and said to be lost although it was written
// again behind it.
TEST(JournalCrash, DiskThatWasFullForAWhileLeavesNothingTorn) {
  FakeDisk disk;
  DurableFileSystem files(disk);
  for (std::size_t room = 1; room < 40; ++room) {
    auto opened = *Journal::Open(files, kCrashDirectory);
    EXPECT_EQ(opened.notes, CrashLines{}) << room;
    ASSERT_TRUE(opened.journal->Append("a").ok());
    ASSERT_TRUE(opened.journal->Sync().ok());
    disk.SetRoom(disk.bytes_used() + room);
    ASSERT_TRUE(opened.journal->Append(std::string(50, 'x')).ok());
    EXPECT_FALSE(opened.journal->Sync().ok());
    disk.SetRoom(std::nullopt);
    EXPECT_TRUE(opened.journal->Sync().ok());
  }
}

TEST(JournalCrash, DiskThatFillsUpAtEveryByteLosesNothingSafe) {
  for (std::size_t room = 0; room < 1200; room += 7) {
    for (std::uint64_t way = 0; way < 6; ++way) {
      const std::string where = fmt::format("{} bytes, way {}", room, way);
      Machine machine;
      ASSERT_TRUE(machine.Open(where));
      machine.disk().SetRoom(room);
      for (int round = 0; round < 9; ++round) {
        machine.Append(2);
        if (round == 5) {
          machine.Compact();
        } else {
          machine.Sync();
        }
      }
      machine.disk().SetRoom(std::nullopt);
      if (way % 2 == 1) machine.Sync();
      machine.ComeBack(way);
      ASSERT_TRUE(machine.Open(where));
    }
  }
}

}  // namespace
}  // namespace galen::history
