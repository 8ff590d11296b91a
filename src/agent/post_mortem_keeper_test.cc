#include "agent/post_mortem_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fake_cluster_view.h"
#include "base/fake_file_system.h"
#include "base/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using history::PodEnd;
using history::PostMortem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const DeviceId kGpu{"gpu.example.com", "node-1", "gpu-0"};

class PostMortemKeeperTest : public ::testing::Test {
 protected:
  PostMortemKeeperTest() {
    health_.id = kGpu;
    health_.state = HealthState::kHealthy;
    health_.since = loop_.WallNow() - 1h;
    Open();
  }

  void Open(const NodeBoot& boot = {}, bool synced = true) {
    journal_ = history::Store::Open(files_, {.directory = "/journal"}).value();
    store_ = history::PostMortemStore::Open(
                 files_, {.directory = "/post-mortem", .bytes_max = store_bytes_max_})
                 .value();
    keeper_.emplace(PostMortemKeeper::Parts{
        .loop = loop_,
        .log = log_,
        .store = *store_,
        .journal = *journal_,
        .claims = index_,
        .view = view_,
        .node = "node-1",
        .unseen_since = [this] { return unseen_since_; },
        .health_of =
            [this](const DeviceId& id) {
              if (id == kGpu) return health_;
              return DeviceHealth{.id = id, .state = HealthState::kHealthy};
            },
        .identity_of = [](const DeviceId& id) { return DeviceIdentity{id, "S1", "H200"}; },
        .tell = [this](const PodRef& pod, const std::string& subject,
                       const EventText&) { told_.push_back(pod.key.name + " " + subject); },
        .on_notable = [this] { ++notable_calls_; }});
    keeper_->Start(boot);
    if (synced) keeper_->OnSynced();
  }
  // As a power cut.
  void Restart(const NodeBoot& boot = {}, bool synced = true) {
    keeper_.reset();
    files_.Crash();
    Open(boot, synced);
  }
  void Add(const std::string& name) {
    kube::Pod& pod = view_.AddPod(name);
    pod.meta.owners = {{.uid = "job", .controller = true}};
    pod.statuses = {{.name = "train", .running = true}};
    view_.AddClaim(name + "-gpu", {{.device = kGpu}}, name);
    index_.PodChanged(pod.meta.key);
    keeper_->OnPod(pod.meta.key, nullptr, &pod);
    loop_.RunUntilIdle();
  }
  // The Pod goes from the API, and its claim with it.
  void Remove(const std::string& name) {
    const kube::Pod before = view_.pods.at({"default", name});
    view_.pods.erase(before.meta.key);
    view_.claims.erase({"default", name + "-gpu"});
    index_.PodChanged(before.meta.key);
    keeper_->OnPod(before.meta.key, &before, nullptr);
    loop_.RunUntilIdle();
  }
  void Change(HealthState state, Duration sign_ago = 0s) {
    const DeviceHealth before = health_;
    health_.state = state;
    health_.since = loop_.WallNow() - sign_ago;
    health_.cause.owner =
        state > HealthState::kUnknown ? FaultOwner::kHardware : FaultOwner::kNobody;
    const HealthChange change{before, health_};
    journal_->Append({.time = loop_.WallNow(),
                      .kind = history::Kind::kChange,
                      .device = kGpu,
                      .change = change});
    EXPECT_TRUE(journal_->Sync().ok());
    keeper_->OnChanges({change});
  }
  // The kubelet tells that the container ended just now, and runs again unless it is for good.
  kube::Pod& Crash(const std::string& name, int code, const std::string& message = "",
                   bool for_good = false) {
    kube::Pod& pod = view_.pods.at({"default", name});
    const kube::Pod before = pod;
    pod.statuses = {{.name = "train",
                     .running = !for_good,
                     .exit_code = code,
                     .finished = loop_.WallNow(),
                     .restarts = 1,
                     .end_message = message}};
    if (for_good) pod.phase = "Failed";
    keeper_->OnPod(pod.meta.key, &before, &pod);
    loop_.RunUntilIdle();
    return pod;
  }
  // On Pod "a": "Hardware", say.
  std::string VerdictNow() {
    const std::vector<PostMortem> records = keeper_->Records(ObjectKey{"default", "a"});
    return records.empty() ? "" : std::string(ToString(records.at(0).verdict.kind));
  }
  std::vector<std::string> Records() {
    std::vector<std::string> said;
    for (const PostMortem& record : keeper_->Records(std::nullopt)) {
      said.push_back(record.pod.key.name + " " + std::string(ToString(record.end)));
      for (const auto& f : record.devices.at(0).findings) {
        said.back() += " " + std::string(ToString(f.health.state));
      }
    }
    return said;
  }

  std::vector<std::string> logged_;
  FakeLoop loop_;
  FakeFileSystem files_;
  Log log_{LogLevel::kWarning, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { logged_.emplace_back(line); }};
  FakeClusterView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
  DeviceHealth health_;
  std::optional<WallTime> unseen_since_;
  std::unique_ptr<history::Store> journal_;
  std::unique_ptr<history::PostMortemStore> store_;
  std::size_t store_bytes_max_ = std::size_t{2} << 20;
  std::vector<std::string> told_;
  int notable_calls_ = 0;
  std::optional<PostMortemKeeper> keeper_;
};

TEST_F(PostMortemKeeperTest, APodThatGoesHasARecordThatSurvivesAPowerCutAtOnce) {
  Add("a");
  Remove("a");
  Restart();
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy"));
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_THAT(store_->holdings(), IsEmpty());
}

TEST_F(PostMortemKeeperTest, AFaultBeforeTheEndIsInItAndIsToldOnceOverRestarts) {
  Add("a");
  loop_.Advance(10min);
  Change(HealthState::kUnhealthy);
  loop_.Advance(2s);
  Remove("a");
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy"));
  EXPECT_THAT(keeper_->notable(), SizeIs(1));
  loop_.Advance(10s);
  EXPECT_THAT(told_, ElementsAre("a post-mortem 1"));
  Restart();
  loop_.Advance(1min);
  EXPECT_THAT(told_, SizeIs(1));
  EXPECT_THAT(keeper_->notable(), SizeIs(1));
}

TEST_F(PostMortemKeeperTest, AFaultThatWasHeardJustBeforeTheAgentDiedIsEnteredByTheNextOne) {
  Add("a");
  Remove("a");
  loop_.Advance(3s);
  Change(HealthState::kUnhealthy);
  Restart();
  EXPECT_THAT(Records(), ElementsAre("a Deleted Healthy Unhealthy"));
  loop_.Advance(10s);
  EXPECT_THAT(told_, ElementsAre("a post-mortem 1"));
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

TEST_F(PostMortemKeeperTest, APodThatIsNotInTheListsAnyMoreIsGone) {
  Add("a");
  Add("b");
  loop_.Advance(1min);
  view_.pods.erase({"default", "a"});
  Restart();
  keeper_->OnSynced();
  EXPECT_THAT(Records(), ElementsAre("a Gone Healthy"));
  EXPECT_THAT(store_->holdings(), SizeIs(1));
}

TEST_F(PostMortemKeeperTest, ABootThatCannotBeToldIsSaidOnceAStart) {
  Restart({.id = "boot-1", .time = {}});
  EXPECT_THAT(logged_, ElementsAre(HasSubstr(kBootIdPath)));
}

TEST_F(PostMortemKeeperTest, AnotherBootOfTheNodeEndsWhatRanOnItOnce) {
  Add("a");
  Restart({.id = "boot-1", .time = {}});
  EXPECT_THAT(Records(), IsEmpty()) << "which life it was before was not known";
  loop_.Advance(1min);
  const NodeBoot boot{.id = "boot-2", .time = loop_.WallNow() - 20s};
  Restart(boot);
  EXPECT_THAT(Records(), ElementsAre("a NodeReboot Healthy"));
  Restart(boot);
  EXPECT_THAT(Records(), SizeIs(1));
  // What the kubelet then tells of its container belongs to the same story.
  const kube::Pod before = view_.pods.at({"default", "a"});
  kube::Pod& after = view_.pods.at({"default", "a"});
  after.statuses = {{.name = "train", .exit_code = 255, .finished = loop_.WallNow()}};
  keeper_->OnPod(after.meta.key, &before, &after);
  EXPECT_THAT(Records(), ElementsAre("a NodeReboot Healthy"));
  EXPECT_THAT(keeper_->Records(std::nullopt).at(0).containers, SizeIs(1));
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
  Add("a");
  Add("b");
  view_.claims.at({"default", "b-gpu"}).devices[0].device.device = "gpu-1";
  index_.PodChanged({"default", "b"});
  loop_.Advance(10min);
  Crash("a", 1, "boom\n", true);
  loop_.Advance(3s);
  Change(HealthState::kUnhealthy);
  loop_.Advance(10s);
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

TEST_F(PostMortemKeeperTest, AnAgentThatComesBackJudgesOnceItKnowsTheNeighbours) {
  Add("a");
  Add("b");
  view_.claims.at({"default", "b-gpu"}).devices[0].device.device = "gpu-1";
  index_.PodChanged({"default", "b"});
  loop_.Advance(10min);
  Crash("a", 1, "", true);
  loop_.Advance(3s);
  Change(HealthState::kUnhealthy);
  loop_.Advance(10s);
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

TEST_F(PostMortemKeeperTest, ACrashWhileTheAgentWasAwayHasARecordOnce) {
  Add("a");
  Add("new");
  Change(HealthState::kDegraded);  // the last that the journal tells of the agent
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
  EXPECT_THAT(told_, ElementsAre("a post-mortem 1"));
}

TEST_F(PostMortemKeeperTest, WhatWentWhileTheWatchWasAwayWentAtAnyTimeSince) {
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
  constexpr int kPods = 2 * static_cast<int>(PostMortemKeeper::kSettledAtOnce) + 1;
  Change(HealthState::kUnhealthy);
  for (int i = 0; i < kPods; ++i) Add("pod-" + std::to_string(i));
  for (int i = 0; i < kPods; ++i) Remove("pod-" + std::to_string(i));
  loop_.Advance(PostMortemKeeper::kSettle);
  loop_.RunUntilIdle();
  EXPECT_THAT(told_, SizeIs(kPods));
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
