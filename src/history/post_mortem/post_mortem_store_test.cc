#include "history/post_mortem/post_mortem_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "history/journal/test_synced.h"
#include "history/post_mortem/relevant_finding.h"

namespace galen::history {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kNow(std::chrono::seconds(1'795'269'734));

class PostMortemStoreTest : public ::testing::Test {
 protected:
  void Open() { store_ = PostMortemStore::Open(files_, options_).value(); }
  // As a power cut.
  void Restart() {
    store_.reset();
    files_.Crash();
    Open();
  }
  static PostMortem Record(const std::string& name, Duration age, bool fault = false,
                           int number = 1) {
    PostMortem record;
    record.pod = {{"train", name}, "uid-" + name};
    record.number = number;
    record.ended = record.first = kNow - age;
    PostMortemDevice device;
    device.identity.id = {"gpu.example.com", "node-7", "gpu-3"};
    ReceivedFinding finding;
    finding.health.id = device.identity.id;
    finding.health.state = fault ? HealthState::kUnhealthy : HealthState::kHealthy;
    device.findings = {finding};
    record.devices = {device};
    return record;
  }
  std::vector<std::string> Names(const std::vector<PostMortem>& records) {
    std::vector<std::string> names;
    for (const PostMortem& record : records) {
      names.push_back(record.pod.key.name + " " + std::to_string(record.number));
    }
    return names;
  }

  FakeFileSystem files_;
  PostMortemStore::Options options_{.directory = "/var/lib/galen/post-mortem"};
  std::unique_ptr<PostMortemStore> store_;
};

TEST_F(PostMortemStoreTest, WhatWasSyncedIsThereAfterAPowerCut) {
  Open();
  store_->Put(Record("a", 2h), kNow);
  store_->Put(Record("b", 1h), kNow);
  store_->Hold({{{"train", "c"}, "uid-c"}, Record("c", 0s).devices, kNow - 1h});
  store_->NoteBoot("boot-1");
  ASSERT_TRUE(Synced(*store_).ok());
  store_->Put(Record("lost", 0s), kNow);
  Restart();
  EXPECT_THAT(Names(store_->All(kNow)), ElementsAre("b 1", "a 1")) << "newest first";
  EXPECT_EQ(store_->All(kNow)[1], Record("a", 2h));
  ASSERT_THAT(store_->holdings(), SizeIs(1));
  EXPECT_EQ(store_->holdings().at("uid-c").devices, Record("c", 0s).devices);
  EXPECT_EQ(store_->holdings().at("uid-c").began, kNow - 1h);
  EXPECT_EQ(store_->boot_id(), "boot-1");
}

TEST_F(PostMortemStoreTest, ARecordTakesThePlaceOfTheOneBefore) {
  Open();
  store_->Put(Record("a", 3h), kNow);
  const std::size_t bytes = store_->bytes();
  store_->Put(Record("a", 2h), kNow);
  EXPECT_EQ(store_->bytes(), bytes) << "of one record";
  store_->Put(Record("a", 2h, true), kNow);
  store_->Put(Record("a", 1h, false, 2), kNow);
  ASSERT_TRUE(Synced(*store_).ok());
  Restart();
  EXPECT_THAT(Names(store_->All(kNow)), ElementsAre("a 2", "a 1"));
  EXPECT_TRUE(HasFault(store_->All(kNow)[1]));
  EXPECT_EQ(store_->LastOf("uid-a")->number, 2);
  EXPECT_EQ(store_->LastOf("uid"), std::nullopt);
  EXPECT_EQ(store_->LastOf("uid-b"), std::nullopt);
}

TEST_F(PostMortemStoreTest, WhatIsTheSameIsNotWrittenAgain) {
  Open();
  store_->Put(Record("a", 2h), kNow);
  store_->Hold({{{"train", "c"}, "uid-c"}, Record("c", 0s).devices});
  store_->NoteBoot("boot-1");
  ASSERT_TRUE(Synced(*store_).ok());
  const std::uint64_t writes = files_.writes();
  store_->Put(Record("a", 2h), kNow);
  store_->Hold({{{"train", "c"}, "uid-c"}, Record("c", 0s).devices});
  store_->NoteBoot("boot-1");
  store_->Release("uid-unknown");
  ASSERT_TRUE(Synced(*store_).ok());
  EXPECT_EQ(files_.writes(), writes);
  EXPECT_FALSE(store_->waits());
}

TEST_F(PostMortemStoreTest, AReleasedPodIsHeldNoMore) {
  Open();
  store_->Hold({{{"train", "c"}, "uid-c"}, Record("c", 0s).devices});
  ASSERT_TRUE(Synced(*store_).ok());
  store_->Release("uid-c");
  ASSERT_TRUE(Synced(*store_).ok());
  Restart();
  EXPECT_THAT(store_->holdings(), IsEmpty());
}

TEST_F(PostMortemStoreTest, OnlySoManyPodsAreHeld) {
  Open();
  for (std::size_t i = 0; i <= PostMortemStore::kHoldingsMax; ++i) {
    store_->Hold({{{"train", "c"}, "uid-" + std::to_string(i)}, {}});
  }
  EXPECT_THAT(store_->holdings(), SizeIs(PostMortemStore::kHoldingsMax));
}

TEST_F(PostMortemStoreTest, OldOnesAreNotAnsweredWith) {
  options_.age_max = 24h;
  Open();
  store_->Put(Record("old", 25h), kNow);
  store_->Put(Record("young", 23h), kNow);
  EXPECT_THAT(Names(store_->All(kNow)), ElementsAre("young 1"));
  EXPECT_THAT(store_->All(kNow + 2h), IsEmpty());
  EXPECT_THAT(store_->OfPod({"train", "young"}, kNow + 1h), SizeIs(1));
  EXPECT_THAT(store_->OfPod({"serve", "young"}, kNow), IsEmpty());
}

TEST_F(PostMortemStoreTest, OfSomeTheNewestAreAnsweredWithAndTheRestCounted) {
  Open();
  for (int i = 0; i < 10; ++i) store_->Put(Record("p" + std::to_string(i), (10 - i) * 1h), kNow);
  store_->Put(Record("p3", 1min, false, 2), kNow);
  const auto names = [&](const PostMortemStore::Query& query) {
    return Names(store_->Newest(query, kNow).records);
  };
  EXPECT_EQ(names({.ns = "", .name = ""}), Names(store_->All(kNow)));
  EXPECT_THAT(names({.ns = "train", .name = "p3"}), ElementsAre("p3 2", "p3 1"));
  EXPECT_THAT(names({.ns = "serve", .name = "p3"}), IsEmpty());
  const auto cut = store_->Newest({.ns = "train", .name = "", .bytes_max = 1}, kNow);
  EXPECT_THAT(Names(cut.records), ElementsAre("p3 2"));
  EXPECT_EQ(cut.left_out, 10u);
  EXPECT_EQ(store_->PodNamed("p3", kNow), (ObjectKey{"train", "p3"}));
  EXPECT_EQ(store_->PodNamed("p", kNow), std::nullopt);
  EXPECT_TRUE(store_->Has("uid-p3", 2, kNow));
  EXPECT_FALSE(store_->Has("uid-p3", 2, kNow + 100 * 24h)) << "past its age";
}

TEST_F(PostMortemStoreTest, PastItsBytesTheOldestWithoutAFaultGoFirst) {
  options_.bytes_max = 4000;
  Open();
  store_->Put(Record("fault", 100h, true), kNow);
  for (int i = 0; i < 50; ++i) store_->Put(Record("p" + std::to_string(i), (50 - i) * 1h), kNow);
  EXPECT_LE(store_->bytes(), 4000u);
  const auto names = Names(store_->All(kNow));
  EXPECT_EQ(names.front(), "p49 1");
  EXPECT_EQ(names.back(), "fault 1");
  EXPECT_LT(names.size(), 20u);
}

TEST_F(PostMortemStoreTest, WhatThereIsNoRoomForIsNotWritten) {
  options_.bytes_max = 4000;
  Open();
  for (int i = 0; i < 50; ++i) store_->Put(Record("p" + std::to_string(i), 1h, true), kNow);
  ASSERT_TRUE(Synced(*store_).ok());
  store_->Put(Record("well", 2h), kNow);
  EXPECT_THAT(store_->OfPod({"train", "well"}, kNow), IsEmpty());
  EXPECT_FALSE(store_->waits());
}

TEST_F(PostMortemStoreTest, WhatLostItsRoomDoesNotComeBackAsItWasBefore) {
  options_.bytes_max = 4000;
  Open();
  for (int i = 0; i < 50; ++i) store_->Put(Record("p" + std::to_string(i), 1h, true), kNow);
  const std::string name = store_->All(kNow).front().pod.key.name;
  PostMortem longer = Record(name, 1h);
  longer.reason = std::string(200, 'x');
  store_->Put(longer, kNow);
  ASSERT_THAT(store_->OfPod({"train", name}, kNow), IsEmpty());
  ASSERT_TRUE(Synced(*store_).ok());
  Restart();
  EXPECT_THAT(store_->OfPod({"train", name}, kNow), IsEmpty());
}

TEST_F(PostMortemStoreTest, WhatWasTooOldTakesNobodysPlaceAfterARestart) {
  options_.bytes_max = 4000;
  Open();
  for (int i = 0; i < 10; ++i) store_->Put(Record("old" + std::to_string(i), 24h, true), kNow);
  const WallTime later = kNow + options_.age_max;
  const auto young = [&](int i) {
    PostMortem record = Record("p" + std::to_string(i), 0s);
    record.first = record.ended = later + i * 1s;
    return record;
  };
  for (int i = 0; i < 5; ++i) store_->Put(young(i), later);
  ASSERT_TRUE(Synced(*store_).ok());
  const auto names = Names(store_->All(later));
  ASSERT_THAT(names, SizeIs(5));
  Restart();
  EXPECT_EQ(Names(store_->All(later)), names);
}

TEST_F(PostMortemStoreTest, APodThatCrashesForEverTakesNotAllTheRoom) {
  Open();
  store_->Put(Record("a", 100h, true), kNow);
  store_->Put(Record("b", 1h), kNow);
  for (int i = 2; i < 30; ++i) store_->Put(Record("a", (50 - i) * 1h, false, i), kNow);
  const auto names = Names(store_->All(kNow));
  EXPECT_THAT(names, SizeIs(1 + PostMortemStore::kPerPodMax));
  EXPECT_EQ(names.front(), "b 1") << "another Pod's";
  EXPECT_EQ(names[1], "a 29");
  EXPECT_EQ(names.back(), "a 1") << "the one with the fault";
}

TEST_F(PostMortemStoreTest, TheJournalStaysBounded) {
  options_.bytes_max = 8000;
  Open();
  std::size_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    store_->Put(Record("p" + std::to_string(i), (3000 - i) * 1s, i % 2 == 0), kNow);
    ASSERT_TRUE(Synced(*store_).ok());
    most = std::max(most, store_->journal().bytes());
  }
  EXPECT_LT(most, std::size_t{300} << 10);
  const auto all = store_->All(kNow);
  Restart();
  EXPECT_EQ(store_->All(kNow), all);
}

TEST_F(PostMortemStoreTest, TheNewestWithAFaultAndThoseStillOpenAreFound) {
  Open();
  store_->Put(Record("well", 1min), kNow);
  store_->Put(Record("a", 3h, true), kNow);
  store_->Put(Record("b", 2h, true), kNow);
  store_->Put(Record("c", 4min, true), kNow);
  EXPECT_THAT(Names(store_->WithFault(kNow, 2)), ElementsAre("c 1", "b 1"));
  EXPECT_THAT(Names(store_->OpenAt(kNow, 0s)), ElementsAre("well 1", "c 1"));
  EXPECT_THAT(Names(store_->OpenAt(kNow, 2h)), ElementsAre("well 1", "c 1", "b 1"));
}

TEST_F(PostMortemStoreTest, OldOnesAreNotAmongTheNewestWithAFaultHoweverFewThereAre) {
  options_.age_max = 24h;
  Open();
  for (const int hours : {1, 2, 3})
    store_->Put(Record(std::to_string(hours), hours * 1h, true), kNow);
  const WallTime later = kNow + 22h;
  EXPECT_THAT(Names(store_->WithFault(later, 5)), ElementsAre("1 1", "2 1"));
  EXPECT_THAT(Names(store_->WithFault(later, 2)), ElementsAre("1 1", "2 1"));
  EXPECT_THAT(Names(store_->WithFault(later, 1)), ElementsAre("1 1"));
}

TEST_F(PostMortemStoreTest, ADiskThatRefusesLosesNothingThatFits) {
  Open();
  store_->Put(Record("a", 2h), kNow);
  files_.FailWrites(ResourceExhausted("disk full"));
  EXPECT_FALSE(Synced(*store_).ok());
  EXPECT_TRUE(store_->waits());
  files_.FailWrites(std::nullopt);
  ASSERT_TRUE(Synced(*store_).ok());
  Restart();
  EXPECT_THAT(Names(store_->All(kNow)), ElementsAre("a 1"));
}

TEST_F(PostMortemStoreTest, ALineThatCannotBeReadIsLeftOutAndReported) {
  Open();
  store_->Put(Record("a", 2h), kNow);
  ASSERT_TRUE(Synced(*store_).ok());
  store_.reset();
  {
    auto journal = Journal::Open(files_, options_.directory).value().journal;
    ASSERT_TRUE(journal->Append(R"({"kind":"of tomorrow"})").ok());
    ASSERT_TRUE(journal->Append("no JSON").ok());
    ASSERT_TRUE(journal->Sync().ok());
  }
  Open();
  EXPECT_THAT(Names(store_->All(kNow)), ElementsAre("a 1"));
  ASSERT_THAT(store_->notes(), SizeIs(1));
  EXPECT_THAT(store_->notes()[0], ::testing::HasSubstr("2 post-mortem lines cannot be read"));
}

TEST_F(PostMortemStoreTest, TheBytesOfAnAnswersRecordsAreCountedTogether) {
  Open();
  for (int i = 0; i < 10; ++i) store_->Put(Record("p" + std::to_string(i), 1h), kNow);
  const std::size_t one = ToJson(Record("p0", 1h)).Dump().size();
  const auto cut = store_->Newest({.ns = "", .name = "", .bytes_max = 2 * one + one / 2}, kNow);
  EXPECT_THAT(cut.records, SizeIs(::testing::AllOf(::testing::Ge(2u), ::testing::Le(4u))));
  EXPECT_EQ(cut.left_out + cut.records.size(), 10u);
}

}  // namespace
}  // namespace galen::history
