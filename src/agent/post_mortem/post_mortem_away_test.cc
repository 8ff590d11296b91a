#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/post_mortem/fake_ended_pods.h"
#include "base/files/boot_id.h"
#include "history/post_mortem/relevant_finding.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using history::PodEnd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class PostMortemAwayTest : public EndedPodsTest {};

TEST_F(PostMortemAwayTest, AFaultThatWasHeardJustBeforeTheAgentDiedIsEnteredByTheNextOne) {
  Add("a");
  Remove("a");
  loop_.Advance(3s);
  Change(HealthState::kUnhealthy);
  Restart();
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy"));
  loop_.Advance(10s);
  EXPECT_THAT(published_, ElementsAre("a post-mortem 1"));
}

TEST_F(PostMortemAwayTest, APodThatIsNotInTheListsAnyMoreIsGone) {
  Add("a");
  Add("b");
  Add("c");
  loop_.Advance(1min);
  view_.pods.erase({"default", "a"});
  view_.pods.at({"default", "c"}).meta.uid = "another";
  Restart();
  keeper_->OnSynced();
  EXPECT_THAT(Records(), UnorderedElementsAre("a Gone Healthy", "c Gone Healthy"));
  EXPECT_THAT(store_->holdings(), SizeIs(1));
}

TEST_F(PostMortemAwayTest, AFaultThatWasMendedBeforeThePodBeganIsNoneOfItsEitherWhenItWentUnseen) {
  Change(HealthState::kUnhealthy);
  loop_.Advance(1min);
  Change(HealthState::kHealthy);
  loop_.Advance(10s);
  Add("a");
  kube::Pod& pod = view_.pods.at({"default", "a"});
  const WallTime pod_began = loop_.WallNow();
  pod.started = pod_began;
  keeper_->OnPod(pod.meta.key, &pod, &pod);
  loop_.Advance(1min);
  view_.pods.erase({"default", "a"});
  Restart();
  const std::vector<history::PostMortem> records = keeper_->Records(std::nullopt);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].end, PodEnd::kGone);
  EXPECT_EQ(records[0].first, pod_began) << "nobody ends before he began";
  EXPECT_FALSE(history::HasFault(records[0]));
}

TEST_F(PostMortemAwayTest, ABootThatCannotBeReadIsLoggedOnceAStart) {
  Restart({.id = "boot-1", .time = {}});
  EXPECT_THAT(logged_, ElementsAre(HasSubstr(std::string(kBootIdPath))));
}

TEST_F(PostMortemAwayTest, AnotherBootOfTheNodeEndsWhatRanOnItOnce) {
  Add("a");
  Restart({.id = "boot-1", .time = {}});
  EXPECT_THAT(Records(), IsEmpty()) << "which life it was before was not known";
  loop_.Advance(1min);
  const NodeBoot boot{.id = "boot-2", .time = loop_.WallNow() - 20s};
  Restart(boot);
  EXPECT_THAT(Records(), ElementsAre("a NodeReboot Healthy"));
  Restart(boot);
  EXPECT_THAT(Records(), SizeIs(1));
  // What the kubelet then shows of its container belongs to the same story.
  const kube::Pod before = view_.pods.at({"default", "a"});
  kube::Pod& after = view_.pods.at({"default", "a"});
  after.statuses = {{.name = "train", .exit_code = 255, .finished = loop_.WallNow()}};
  keeper_->OnPod(after.meta.key, &before, &after);
  EXPECT_THAT(Records(), ElementsAre("a NodeReboot Healthy"));
  EXPECT_THAT(keeper_->Records(std::nullopt).at(0).containers, SizeIs(1));
}

TEST_F(PostMortemAwayTest, AnAgentThatComesBackJudgesOnceItKnowsTheNeighbours) {
  CrashBesideAPeer("");
  ASSERT_EQ(VerdictNow(), "Hardware");
  Change(HealthState::kDegraded);
  const std::map<ObjectKey, kube::Pod> pods = std::exchange(view_.pods, {});
  Restart({}, false);
  loop_.Advance(1min);
  EXPECT_EQ(VerdictNow(), "Hardware") << "as it was, while nobody is known";
  view_.pods = pods;
  keeper_->OnSynced();
  loop_.Advance(10s);
  EXPECT_EQ(VerdictNow(), "Hardware");
}

TEST_F(PostMortemAwayTest, ACrashWhileTheAgentWasAwayHasARecordOnce) {
  Add("a");
  Add("new");
  Change(HealthState::kDegraded);  // the last that the journal shows of the agent
  loop_.Advance(10s);
  kube::Pod& pod = view_.pods.at({"default", "a"});
  pod.statuses[0] = {.name = "train",
                     .running = true,
                     .exit_code = 134,
                     .finished = loop_.WallNow(),
                     .restarts = 1};
  loop_.Advance(20s);
  for (int i = 0; i < 3; ++i) {
    Restart();
    keeper_->OnPod(pod.meta.key, nullptr, &pod);
    loop_.Advance(10s);
    ASSERT_THAT(Records(), SizeIs(1));
    EXPECT_EQ(keeper_->Records(std::nullopt).at(0).end, PodEnd::kCrashed);
    EXPECT_EQ(keeper_->Records(std::nullopt).at(0).containers.at(0).exit_code, 134);
  }
  EXPECT_THAT(published_, ElementsAre("a post-mortem 1"));
}

TEST_F(PostMortemAwayTest, WhatWentWhileTheWatchWasAwayWentAtAnyTimeSince) {
  Add("a");
  loop_.Advance(10min);
  unseen_since_ = loop_.WallNow();
  const WallTime lost = loop_.WallNow();
  loop_.Advance(2min);
  Change(HealthState::kUnhealthy);
  loop_.Advance(3min);
  Change(HealthState::kHealthy);
  loop_.Advance(15min);
  Remove("a");
  EXPECT_THAT(Records(), ElementsAre("a Gone Healthy Unhealthy Healthy"));
  EXPECT_EQ(keeper_->Records(std::nullopt).at(0).first, lost);
  EXPECT_FALSE(keeper_->Records(std::nullopt).at(0).exact);
  Add("b");
  unseen_since_ = loop_.WallNow() - 1s;
  Remove("b");
  EXPECT_EQ(keeper_->Records(ObjectKey{"default", "b"}).at(0).end, PodEnd::kDeleted) << "a hiccup";
}

}  // namespace
}  // namespace galen::agent
