// Random lives of a store on a disk that keeps no more than was synced: after each way of coming
// back it says what was said before, in order and with the times of then.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/files/fake_disk.h"
#include "base/files/posix_file_system.h"
#include "base/test_rounds.h"
#include "history/journal/test_synced.h"
#include "history/store/store.h"

namespace galen::history {
namespace {

constexpr std::uint64_t kSeeds = Rounds(150, 15);
constexpr int kSteps = 300;
constexpr std::size_t kWindow = 25;

// One store over many restarts, and what was recorded in it.
class Life {
 public:
  explicit Life(std::uint64_t seed) : chance_(seed), where_(fmt::format("seed {}", seed)) {}

  void Play() {
    Open();
    for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      where_ = fmt::format("{}, step {}", where_.substr(0, where_.find(',')), step);
      Step();
    }
  }

 private:
  void Step() {
    switch (chance_.Below(12)) {
      case 0:
        return End();
      case 1:
        return disk_.StopAfter(chance_.Below(12));
      case 2:
        in_doubt_ = true;
        return disk_.FailSync(chance_.Below(6));
      case 3:
        return disk_.SetRoom(disk_.bytes_used() + chance_.Below(4000));
      case 4:
        return disk_.SetRoom(std::nullopt);
      case 5:
      case 6:
      case 7:
        return Sync();
      default:
        return Append();
    }
  }

  void Append() {
    Record record;
    record.kind = Kind::kChange;
    // Not the order of the records: a wall clock is set, and a report comes late.
    record.time = WallTime(std::chrono::nanoseconds(
        1'795'269'600'000'000'000 + static_cast<std::int64_t>(chance_.Below(1'000'000'000'000))));
    record.device = {"gpu.example.com", "node-7", fmt::format("gpu-{}", chance_.Below(4))};
    record.change.emplace();
    record.change->before.id = record.change->after.id = record.device;
    record.change->after.state = kHealthStates[chance_.Below(std::size(kHealthStates))];
    record.change->after.since = record.time;
    record.text = std::string(chance_.Below(200), 'x');
    record.sequence = store_->Append(record);
    EXPECT_EQ(record.sequence, appended_.size() + 1) << where_;
    appended_.push_back(Bounded(std::move(record)));
  }

  void Sync() {
    if (Synced(*store_).ok()) safe_ = appended_.size();
  }

  void End() {
    store_ = nullptr;
    disk_.SetRoom(std::nullopt);
    disk_.FailSync(std::nullopt);
    // What a failed sync was for is still in the cache, so only a power cut shows what is kept.
    if (chance_.Chance(0.3) && !in_doubt_) {
      disk_.Restart();
    } else {
      const auto kinds = {FakeDisk::Unsynced::kLost, FakeDisk::Unsynced::kKept,
                          FakeDisk::Unsynced::kChance, FakeDisk::Unsynced::kChance};
      disk_.CutPower(kinds.begin()[chance_.Below(kinds.size())], chance_);
    }
    Open();
  }

  void Open() {
    auto opened = Store::Open(files_, {.directory = "/state/journal",
                                       .records_max = kWindow,
                                       .bytes_max = 100'000,
                                       .journal_bytes_max = 6000});
    ASSERT_TRUE(opened.ok()) << where_ << ": " << opened.status().message();
    store_ = std::move(opened).value();
    in_doubt_ = false;
    const std::vector<Record> kept = store_->Since(0);
    const std::uint64_t last = kept.empty() ? 0 : kept.back().sequence;
    ASSERT_GE(last, safe_) << where_ << ": lost";
    ASSERT_LE(last, appended_.size()) << where_ << ": invented";
    appended_.resize(last);
    safe_ = last;
    for (const Record& record : kept) {
      ASSERT_EQ(record, appended_[record.sequence - 1]) << where_ << ": " << Encode(record);
    }
    // Without a hole, as far back as the window goes.
    const std::uint64_t window = std::min<std::uint64_t>(kWindow, last);
    ASSERT_GE(kept.size(), window) << where_;
    for (std::uint64_t i = 0; i < window; ++i) {
      ASSERT_EQ(kept[kept.size() - 1 - i].sequence, last - i) << where_;
    }
    std::map<DeviceId, DeviceHealth> latest;
    for (const Record& record : appended_) latest[record.device] = record.change->after;
    ASSERT_EQ(store_->Latest(), latest) << where_;
  }

  Random chance_;
  std::string where_;
  FakeDisk disk_;
  DurableFileSystem files_{disk_};
  std::unique_ptr<Store> store_;
  std::vector<Record> appended_;  // by their numbers, from 1
  std::uint64_t safe_ = 0;        // up to which they were promised
  bool in_doubt_ = false;         // a sync of this life may have failed
};

TEST(StoreCrash, RandomLivesKeepEverySyncedChangeWithItsOriginalTime) {
  const std::uint64_t fresh = Random::Seed() % 1'000'000;
  fmt::print("store crash: seeds 1 to {} and {}\n", kSeeds, fresh);
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    Life(seed).Play();
  }
  Life(fresh).Play();
}

}  // namespace
}  // namespace galen::history
