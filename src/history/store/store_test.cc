#include "history/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/random.h"
#include "history/journal/test_synced.h"

namespace galen::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Status kFullDisk = ResourceExhausted("no space left on device");

DeviceId Gpu(int n) { return {"gpu.example.com", "node-7", "gpu-" + std::to_string(n)}; }
WallTime At(int second) { return WallTime(std::chrono::seconds(1'795'269'600 + second)); }

Record Change(const DeviceId& id, HealthState state, int second) {
  Record record;
  record.kind = Kind::kChange;
  record.time = At(second);
  record.device = id;
  record.change.emplace();
  record.change->before.id = id;
  record.change->after.id = id;
  record.change->after.state = state;
  record.change->after.since = At(second);
  return record;
}

Record Note(std::string text) {
  Record record;
  record.time = At(0);
  record.text = std::move(text);
  return record;
}

std::vector<std::string> Texts(const std::vector<Record>& records) {
  std::vector<std::string> texts;
  for (const Record& record : records) texts.push_back(record.text);
  return texts;
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() { options_.directory = "/state"; }
  void Open() {
    store_ = nullptr;
    auto store = Store::Open(files_, options_);
    ASSERT_TRUE(store.ok()) << ToString(store.status());
    store_ = *std::move(store);
  }
  void Restart() {
    store_ = nullptr;
    files_.Crash();
    Open();
  }
  HealthState StateOf(int gpu) { return store_->Latest().at(Gpu(gpu)).state; }

  FakeFileSystem files_;
  Store::Options options_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, RestartGivesTheSameAnswersWithTheOriginalTimes) {
  Open();
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 1));
  store_->Append(Change(Gpu(1), HealthState::kDegraded, 2));
  store_->Append(Change(Gpu(0), HealthState::kHealthy, 3));
  store_->Append(Note("published"));
  ASSERT_TRUE(Synced(*store_).ok());
  const auto latest = store_->Latest();
  const auto all = store_->Since(0);
  Restart();
  EXPECT_EQ(store_->Latest(), latest);
  EXPECT_EQ(store_->Since(0), all);
  EXPECT_EQ(latest.at(Gpu(0)).state, HealthState::kHealthy);
  EXPECT_EQ(latest.at(Gpu(0)).since, At(3));
  EXPECT_EQ(latest.at(Gpu(1)).since, At(2));
  EXPECT_THAT(store_->notes(), IsEmpty());
}

TEST_F(StoreTest, NumbersRiseByOneAcrossRestarts) {
  Open();
  EXPECT_EQ(store_->Append(Note("a")), 1u);
  EXPECT_EQ(store_->Append(Note("b")), 2u);
  ASSERT_TRUE(Synced(*store_).ok());
  Restart();
  EXPECT_EQ(store_->Append(Note("c")), 3u);
  EXPECT_THAT(Texts(store_->Since(1)), ElementsAre("b", "c"));
  EXPECT_THAT(Texts(store_->Since(3)), IsEmpty());
}

TEST_F(StoreTest, WhatWasNotSyncedIsNotThereAfterACrash) {
  Open();
  store_->Append(Note("synced"));
  ASSERT_TRUE(Synced(*store_).ok());
  store_->Append(Note("lost"));
  Restart();
  EXPECT_THAT(Texts(store_->Since(0)), ElementsAre("synced"));
}

TEST_F(StoreTest, ForgottenDeviceHasNoHealthUntilItChangesAgain) {
  Open();
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 1));
  Record forgotten = Note("");
  forgotten.kind = Kind::kForgotten;
  forgotten.device = Gpu(0);
  store_->Append(forgotten);
  ASSERT_TRUE(Synced(*store_).ok());
  EXPECT_THAT(store_->Latest(), IsEmpty());
  Restart();
  EXPECT_THAT(store_->Latest(), IsEmpty());
  store_->Append(Change(Gpu(0), HealthState::kHealthy, 5));
  EXPECT_EQ(StateOf(0), HealthState::kHealthy);
}

// Silent, then gone, then taken from the driver's list; the rest of the window is of others.
TEST_F(StoreTest, KnowsHowADeviceWasBeforeItsDriverFellSilentOverRewritesAndRestarts) {
  options_.records_max = 3;
  options_.journal_bytes_max = 2'000;
  Open();
  const auto change = [](const DeviceHealth& before, HealthState state, std::string_view code) {
    Record record = Change(Gpu(0), state, 5);
    record.change->before = before;
    record.change->after.cause.code = code;
    return record;
  };
  DeviceHealth last{.id = Gpu(0), .cause = {.code = std::string(cause_code::kNotReported)}};
  const auto turn = [&](HealthState state, std::string_view code) {
    const Record record = change(last, state, code);
    store_->Append(record);
    last = record.change->after;
    for (int i = 0; i < 100; ++i) {
      store_->Append(Note("note"));
      ASSERT_TRUE(Synced(*store_).ok());
    }
    Restart();
  };
  turn(HealthState::kUnknown, cause_code::kDriverGone);
  EXPECT_THAT(store_->BeforeSilence(), IsEmpty()) << "nobody ever said how it is";
  turn(HealthState::kUnhealthy, "XidGpuLost");
  EXPECT_THAT(store_->BeforeSilence(), IsEmpty());
  const DeviceHealth lost = last;
  for (const auto code : {cause_code::kDriverSilent, cause_code::kDriverGone,
                          cause_code::kNotReported, cause_code::kDriverGone}) {
    turn(HealthState::kUnknown, code);
    EXPECT_THAT(store_->BeforeSilence(), ElementsAre(testing::Pair(Gpu(0), lost))) << code;
    EXPECT_EQ(StateOf(0), HealthState::kUnknown);
  }
  turn(HealthState::kUnknown, cause_code::kReported);
  turn(HealthState::kUnknown, cause_code::kDriverGone);
  EXPECT_THAT(store_->BeforeSilence(), IsEmpty()) << "its driver said that it does not know";
}

TEST_F(StoreTest, AnswersForOneDevice) {
  Open();
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 1));
  store_->Append(Change(Gpu(1), HealthState::kUnhealthy, 2));
  Record same_name_elsewhere = Note("other node");
  same_name_elsewhere.device = Gpu(0);
  same_name_elsewhere.device.pool = "node-8";
  store_->Append(same_name_elsewhere);
  store_->Append(Change(Gpu(0), HealthState::kHealthy, 3));
  const auto records = store_->OfDevice(Gpu(0));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].time, At(1));
  EXPECT_EQ(records[1].time, At(3));
  EXPECT_THAT(store_->OfDevice(Gpu(9)), IsEmpty());
}

TEST_F(StoreTest, AnswersForAPodWithAllThatLedToIt) {
  const auto with = [](Record record, const char* pod, const char* uid, const char* incident) {
    if (*pod != '\0') record.pod = PodRef{{"train", pod}, uid};
    record.incident = incident;
    return record;
  };
  Open();
  store_->Append(with(Note("sign"), "", "", "i-1"));
  store_->Append(with(Note("other sign"), "", "", "i-2"));
  store_->Append(with(Note("no incident"), "", "", ""));
  store_->Append(with(Note("published a"), "a", "1", "i-1"));
  store_->Append(with(Note("published b"), "b", "2", "i-1"));
  store_->Append(with(Note("earlier a"), "a", "0", ""));
  EXPECT_THAT(Texts(store_->OfPod(PodRef{{"train", "a"}, "1"})),
              ElementsAre("sign", "published a"));
  EXPECT_THAT(Texts(store_->OfPod(ObjectKey{"train", "a"})),
              ElementsAre("sign", "published a", "earlier a"));
  EXPECT_THAT(store_->OfPod(ObjectKey{"serve", "a"}), IsEmpty());
}

TEST_F(StoreTest, WindowIsBoundedByCountAndTheLatestHealthOutlivesIt) {
  options_.records_max = 10;
  Open();
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 1));
  for (int i = 0; i < 50; ++i) store_->Append(Note(std::to_string(i)));
  EXPECT_EQ(store_->Since(0).size(), 10u);
  EXPECT_EQ(store_->Since(0).front().text, "40");
  EXPECT_EQ(StateOf(0), HealthState::kUnhealthy);
}

TEST_F(StoreTest, WindowIsBoundedByBytes) {
  options_.bytes_max = 4000;
  Open();
  for (int i = 0; i < 50; ++i) store_->Append(Note(std::string(900, 'x')));
  EXPECT_GE(store_->Since(0).size(), 3u);
  EXPECT_LE(store_->Since(0).size(), 4u);
}

TEST_F(StoreTest, JournalStaysBoundedAndKeepsEachLatestHealth) {
  options_.records_max = 20;
  options_.journal_bytes_max = 20'000;
  Open();
  for (int gpu = 0; gpu < 8; ++gpu) store_->Append(Change(Gpu(gpu), HealthState::kDegraded, gpu));
  std::size_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    store_->Append(Note("note " + std::to_string(i)));
    ASSERT_TRUE(Synced(*store_).ok());
    most = std::max(most, store_->journal().bytes());
  }
  EXPECT_LE(most, 20'000u);
  // Rewritten now and then, not all the time.
  EXPECT_LT(store_->journal().records_written(), 2 * 2008u);
  const auto latest = store_->Latest();
  const auto window = store_->Since(0);
  Restart();
  EXPECT_EQ(store_->Latest(), latest);
  EXPECT_EQ(store_->Since(0), window);
  EXPECT_EQ(latest.at(Gpu(5)).since, At(5));
  EXPECT_EQ(store_->Append(Note("next")), 2009u);
}

TEST_F(StoreTest, WindowLargerThanTheJournalsBoundDoesNotMakeEverySyncARewrite) {
  options_.journal_bytes_max = 1000;
  Open();
  for (int i = 0; i < 500; ++i) {
    store_->Append(Note("note " + std::to_string(i)));
    ASSERT_TRUE(Synced(*store_).ok());
  }
  EXPECT_LT(store_->journal().records_written(), 4 * 500u);
}

TEST_F(StoreTest, FullDiskKeepsServingAndWritesAllOfItAfterwards) {
  Open();
  store_->Append(Change(Gpu(0), HealthState::kHealthy, 1));
  ASSERT_TRUE(Synced(*store_).ok());
  files_.FailWrites(kFullDisk);
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 2));
  EXPECT_EQ(Synced(*store_).code(), Code::kResourceExhausted);
  EXPECT_FALSE(store_->journal().trouble().ok());
  EXPECT_EQ(StateOf(0), HealthState::kUnhealthy);
  files_.FailWrites(std::nullopt);
  EXPECT_TRUE(Synced(*store_).ok());
  Restart();
  EXPECT_EQ(StateOf(0), HealthState::kUnhealthy);
}

TEST_F(StoreTest, WhatDidNotFitWhileTheDiskWasFullIsInTheNextRewrite) {
  options_.records_max = 5;
  Open();
  files_.FailWrites(kFullDisk);
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 1));
  std::size_t appended = 1;
  while (store_->journal().pending_bytes() + 1100 < Journal::kPendingBytesMax) {
    store_->Append(Note(std::string(1000, 'x')));
    ++appended;
  }
  for (int i = 0; i < 10; ++i) store_->Append(Note("beyond " + std::to_string(i)));
  store_->Append(Change(Gpu(1), HealthState::kDegraded, 2));
  for (int i = 0; i < 10; ++i) store_->Append(Note(std::string(1000, 'y')));
  EXPECT_FALSE(Synced(*store_).ok());
  files_.FailWrites(std::nullopt);
  EXPECT_TRUE(Synced(*store_).ok());
  EXPECT_LT(store_->journal().bytes(), 100'000u);
  Restart();
  EXPECT_EQ(StateOf(0), HealthState::kUnhealthy);
  EXPECT_EQ(StateOf(1), HealthState::kDegraded);
  EXPECT_EQ(store_->Append(Note("")), appended + 22);
}

TEST_F(StoreTest, RecordThatCannotBeReadIsLeftOutAndSaid) {
  Open();
  store_->Append(Note("good"));
  ASSERT_TRUE(Synced(*store_).ok());
  store_ = nullptr;
  {
    const auto journal = std::move(Journal::Open(files_, "/state")->journal);
    ASSERT_TRUE(journal->Append("{\"kind\":\"of a later version\"}").ok());
    ASSERT_TRUE(journal->Sync().ok());
  }
  Open();
  EXPECT_THAT(Texts(store_->Since(0)), ElementsAre("good"));
  EXPECT_THAT(store_->notes(), ElementsAre(HasSubstr("1 journal records cannot be read")));
}

TEST_F(StoreTest, RecordsThatCameTwiceCountOnce) {
  Open();
  store_->Append(Note("a"));
  ASSERT_TRUE(Synced(*store_).ok());
  // The sync fails after the bytes went out: they are there, and are written again.
  store_->Append(Note("b"));
  files_.FailWrites(kFullDisk, 1);
  EXPECT_FALSE(Synced(*store_).ok());
  files_.FailWrites(std::nullopt);
  store_->Append(Note("c"));
  ASSERT_TRUE(Synced(*store_).ok());
  store_ = nullptr;
  files_.Crash(1000);
  Open();
  EXPECT_THAT(Texts(store_->Since(0)), ElementsAre("a", "b", "c"));
}

TEST_F(StoreTest, DevicesHaveABoundAndTheOneOfTheLongestAgoGoes) {
  Open();
  const int devices = static_cast<int>(Store::kDevicesMax);
  for (int i = 0; i < devices; ++i) store_->Append(Change(Gpu(i), HealthState::kHealthy, i));
  store_->Append(Change(Gpu(0), HealthState::kDegraded, devices));
  store_->Append(Change(Gpu(devices), HealthState::kHealthy, devices));
  const auto latest = store_->Latest();
  EXPECT_EQ(latest.size(), Store::kDevicesMax);
  EXPECT_EQ(latest.count(Gpu(0)), 1u);
  EXPECT_EQ(latest.count(Gpu(1)), 0u);
}

TEST_F(StoreTest, HostileTextsSurviveARestart) {
  Open();
  Record record = Change({"gpu\xff", "\"}", "\n"}, HealthState::kUnhealthy, 1);
  record.text = std::string(1 << 20, '\xfe');
  store_->Append(record);
  ASSERT_TRUE(Synced(*store_).ok());
  const auto all = store_->Since(0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(store_->OfDevice(all[0].device), all);
  Restart();
  EXPECT_EQ(store_->Since(0), all);
}

TEST_F(StoreTest, RandomLivesWithCrashesLoseNothingThatWasSafe) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random dice(seed);
    files_ = FakeFileSystem();
    options_.records_max = 15;
    options_.journal_bytes_max = 6000;
    std::map<DeviceId, DeviceHealth> safe;
    std::uint64_t safe_sequence = 0;
    Open();
    for (int step = 0; step < 200; ++step) {
      const HealthState state = kHealthStates[dice.Below(4)];
      const std::uint64_t last =
          store_->Append(Change(Gpu(static_cast<int>(dice.Below(4))), state, step));
      if (dice.Chance(0.1)) files_.FailWrites(kFullDisk, dice.Below(4));
      if (dice.Chance(0.2)) files_.FailWrites(std::nullopt);
      if (dice.Chance(0.5) && Synced(*store_).ok()) {
        safe = store_->Latest();
        safe_sequence = last;
      }
      if (!dice.Chance(0.05)) continue;
      store_ = nullptr;
      files_.FailWrites(std::nullopt);
      files_.Crash(dice.Below(200));
      Open();
      const auto kept = store_->Since(0);
      const std::uint64_t kept_sequence = kept.empty() ? 0 : kept.back().sequence;
      ASSERT_GE(kept_sequence, safe_sequence) << "seed " << seed << ", step " << step;
      if (kept_sequence == safe_sequence) {
        ASSERT_EQ(store_->Latest(), safe) << "seed " << seed << ", step " << step;
      }
      safe = store_->Latest();
      safe_sequence = kept_sequence;
    }
  }
}

TEST_F(StoreTest, ARewriteWritesEachLineOnce) {
  options_.journal_bytes_max = 1;
  Open();
  store_->Append(Change(Gpu(0), HealthState::kUnhealthy, 1));
  ASSERT_TRUE(Synced(*store_).ok());
  EXPECT_EQ(store_->journal().records_written(), 1u);
}

}  // namespace
}  // namespace galen::history
