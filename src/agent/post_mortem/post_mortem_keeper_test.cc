#include "agent/post_mortem/post_mortem_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/post_mortem/fake_ended_pods.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PostMortemKeeperTest : public EndedPodsTest {};

TEST_F(PostMortemKeeperTest, APodThatGoesHasARecordThatSurvivesAPowerCutAtOnce) {
  Add("a");
  Remove("a");
  Restart();
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy"));
  EXPECT_THAT(published_, IsEmpty());
  EXPECT_THAT(store_->holdings(), IsEmpty());
}

TEST_F(PostMortemKeeperTest, AFaultBeforeTheEndIsInItAndIsPublishedOnceOverRestarts) {
  Add("a");
  loop_.Advance(10min);
  Change(HealthState::kUnhealthy);
  loop_.Advance(2s);
  Remove("a");
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy"));
  EXPECT_THAT(keeper_->notable(), SizeIs(1));
  loop_.Advance(10s);
  EXPECT_THAT(published_, ElementsAre("a post-mortem 1"));
  Restart();
  loop_.Advance(1min);
  EXPECT_THAT(published_, SizeIs(1));
  EXPECT_THAT(keeper_->notable(), SizeIs(1));
}

TEST_F(PostMortemKeeperTest, AnEventThatTheApiServerNeverGotIsPublishedByTheNextAgent) {
  api_answers_ = false;
  Add("a");
  Change(HealthState::kUnhealthy);
  Remove("a");
  loop_.Advance(10s);
  EXPECT_THAT(published_, SizeIs(1));
  api_answers_ = true;
  Restart();
  loop_.Advance(10s);
  EXPECT_THAT(published_, SizeIs(2));
  Restart();
  loop_.Advance(10s);
  EXPECT_THAT(published_, SizeIs(2)) << "now it is written";
}

TEST_F(PostMortemKeeperTest, KnowsOverRestartsHowADeviceWasAtATime) {
  Change(HealthState::kUnhealthy);
  loop_.Advance(10s);
  const WallTime broken = loop_.WallNow();
  loop_.Advance(1min);
  Change(HealthState::kHealthy);
  loop_.Advance(1min);
  const WallTime repaired = loop_.WallNow();
  loop_.Advance(1min);
  Change(HealthState::kUnhealthy);
  Restart();
  EXPECT_EQ(keeper_->HealthAt(kGpu, broken).state, HealthState::kUnhealthy);
  EXPECT_EQ(keeper_->HealthAt(kGpu, repaired).state, HealthState::kHealthy);
  // Its sign is older than its report.
  Change(HealthState::kUnhealthy, 90s);
  EXPECT_EQ(keeper_->HealthAt(kGpu, repaired).state, HealthState::kUnhealthy);
}

// Its time looks like one before the end, once the clock has passed that again.
TEST_F(PostMortemKeeperTest, AFaultAfterTheClockWasSetBackIsNotEntered) {
  Add("a");
  loop_.Advance(10min);
  Remove("a");
  loop_.StepWallClock(-2min);
  loop_.Advance(3min);
  Change(HealthState::kUnhealthy, 90s);
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy"));
  Change(HealthState::kHealthy, 80s);
  Change(HealthState::kUnhealthy, 10min);
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy"))
      << "even so it was before the end";
}

// A node whose Pods come and go all day keeps in memory what it keeps on disk, and no more.
TEST_F(PostMortemKeeperTest, ARecordThatTheStoreHadNoRoomForIsNoMoreInMemory) {
  store_bytes_max_ = 740;  // one of them
  Restart();
  Add("a");
  Remove("a");
  loop_.Advance(1s);
  EXPECT_EQ(keeper_->open(), 1u);
  Add("b");
  Remove("b");
  EXPECT_THAT(Records(), ElementsAre("b Deleted Healthy"));
  EXPECT_EQ(keeper_->open(), 1u);
}

TEST_F(PostMortemKeeperTest, TheWindowEndsFiveMinutesAfterTheEndUnlessTheSignIsOlder) {
  Add("a");
  Remove("a");
  loop_.Advance(6min);
  Change(HealthState::kDegraded);
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy"));
  Change(HealthState::kUnhealthy, 2min);
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy")) << "the sign was in it";
  loop_.Advance(2h);
  Change(HealthState::kDegraded, 2h + 3min);
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy")) << "that late is too late";
}

TEST_F(PostMortemKeeperTest, OfOnesOfOneNameEachHasItsOwn) {
  Add("a");
  const kube::Pod before = view_.pods.at({"default", "a"});
  kube::Pod& after = view_.pods.at({"default", "a"});
  after.meta.uid = "uid-2";
  view_.claims.at({"default", "a-gpu"}).reserved_for = {{{"default", "a"}, "uid-2"}};
  index_.PodChanged(after.meta.key);
  keeper_->OnPod(after.meta.key, &before, &after);
  Remove("a");
  EXPECT_THAT(Records(), SizeIs(2));
  EXPECT_THAT(keeper_->Records(ObjectKey{"default", "a"}), SizeIs(2));
  EXPECT_THAT(keeper_->Records(ObjectKey{"other", "a"}), IsEmpty());
}

TEST_F(PostMortemKeeperTest, WhatADeviceDoesLongAfterTheCrashTurnsNoVerdict) {
  Add("a");
  loop_.Advance(10min);
  Change(HealthState::kUnhealthy);
  loop_.Advance(2s);
  Crash("a", 139);
  loop_.Advance(10s);
  EXPECT_EQ(VerdictNow(), "Hardware");
  for (int i = 0; i < 60; ++i) {
    loop_.Advance(1s);
    Change(i % 2 == 0 ? HealthState::kHealthy : HealthState::kUnhealthy);
  }
  loop_.Advance(10s);
  EXPECT_EQ(VerdictNow(), "Hardware");
}

TEST_F(PostMortemKeeperTest, AVerdictOutlivesTheNeighboursThatItWasMadeWith) {
  CrashBesideAPeer("boom\n");
  ASSERT_EQ(VerdictNow(), "Hardware") << "by the peer that goes on";
  loop_.Advance(72h);
  view_.pods.erase({"default", "b"});
  Restart();
  kube::Pod& pod = view_.pods.at({"default", "a"});
  for (const std::string message : {"boom\n", "boom, says the kubelet now"}) {
    pod.statuses[0].end_message = message;
    keeper_->OnPod(pod.meta.key, nullptr, &pod);
    loop_.Advance(10s);
    EXPECT_EQ(VerdictNow(), "Hardware");
  }
  EXPECT_THAT(keeper_->Records(ObjectKey{"default", "a"}), SizeIs(1));
}

TEST_F(PostMortemKeeperTest, WhatIsShownGoesWithItsRecord) {
  Add("a");
  Change(HealthState::kUnhealthy);
  Remove("a");
  loop_.Advance(10s);
  ASSERT_THAT(keeper_->notable(), SizeIs(1));
  loop_.Advance(20 * 24h);
  Add("b");
  Remove("b");
  EXPECT_THAT(keeper_->Records(std::nullopt), SizeIs(1));
  ASSERT_THAT(keeper_->notable(), SizeIs(1));
  EXPECT_EQ(keeper_->notable()[0].pod.key.name, "b");
}

TEST_F(PostMortemKeeperTest, AllPodsOfANodeAreJudgedInSmallPieces) {
  constexpr int kPods = 2 * static_cast<int>(PostMortemKeeper::kRejudgedAtOnceMax) + 1;
  Change(HealthState::kUnhealthy);
  for (int i = 0; i < kPods; ++i) Add("pod-" + std::to_string(i));
  for (int i = 0; i < kPods; ++i) Remove("pod-" + std::to_string(i));
  loop_.Advance(PostMortemKeeper::kRejudgeAfter);
  loop_.RunUntilIdle();
  EXPECT_THAT(published_, SizeIs(kPods));
}

TEST_F(PostMortemKeeperTest, AnEventThatWasLetGoIsPublishedAgain) {
  Add("a");
  Change(HealthState::kUnhealthy);
  lets_go_ = true;
  Remove("a");
  loop_.Advance(2 * PostMortemKeeper::kRejudgeAfter);
  EXPECT_THAT(published_, SizeIs(2));
  lets_go_ = false;
  loop_.Advance(1min);
  EXPECT_THAT(published_, SizeIs(3)) << "until it is written";
}

TEST_F(PostMortemKeeperTest, ARecordThatMadeRoomIsPublishedOnceItIsTakenUpAgain) {
  Add("a");
  Change(HealthState::kUnhealthy);
  api_answers_ = false;
  kube::Pod& pod = Crash("a", 1, "boom", true);
  loop_.Advance(PostMortemKeeper::kRejudgeAfter);
  ASSERT_THAT(published_, SizeIs(1));
  for (std::size_t i = 0; i < PostMortemKeeper::kOpenMax; ++i) {
    Add("other-" + std::to_string(i));
    Remove("other-" + std::to_string(i));
  }
  EXPECT_EQ(keeper_->open(), PostMortemKeeper::kOpenMax);
  api_answers_ = true;
  published_.clear();
  pod.statuses[0].end_message = "boom, says the kubelet now";
  keeper_->OnPod(pod.meta.key, nullptr, &pod);
  loop_.Advance(1min);
  EXPECT_EQ(std::ranges::count(published_, "a post-mortem 1"), 1);
}

TEST_F(PostMortemKeeperTest, NothingIsWrittenForNewsThatIsNone) {
  Add("a");
  Add("b");
  Remove("a");
  loop_.Advance(1min);
  const std::uint64_t writes = files_.writes();
  const kube::Pod& pod = view_.pods.at({"default", "b"});
  for (int i = 0; i < 100; ++i) keeper_->OnPod(pod.meta.key, &pod, &pod);
  keeper_->OnClaims(pod.meta.key);
  keeper_->OnSynced();
  loop_.Advance(3h);
  keeper_->Flush();
  EXPECT_EQ(files_.writes(), writes);
  EXPECT_EQ(loop_.waiting(), 0u) << "nothing is waited for once all windows are over";
}

TEST_F(PostMortemKeeperTest, ADiskThatDoesNotWriteIsATroubleUntilItDoes) {
  Add("a");
  files_.FailWrites(ResourceExhausted("disk full"));
  Remove("a");
  EXPECT_NE(keeper_->trouble(), "");
  files_.FailWrites(std::nullopt);
  loop_.Advance(PostMortemKeeper::kSyncAgain);
  EXPECT_EQ(keeper_->trouble(), "");
  Restart();
  EXPECT_THAT(Records(), SizeIs(1));
}

}  // namespace
}  // namespace galen::agent
