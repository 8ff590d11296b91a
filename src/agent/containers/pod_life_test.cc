#include "agent/containers/pod_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ContainerLife::Kind;

// A Pod whose containers a test starts and ends by name; says what was decided as "start a".
class PodLifeTest : public ::testing::Test {
 protected:
  void Make(RestartPolicy policy, std::vector<std::pair<std::string, Kind>> containers) {
    PodPlan plan{.ref = {{"default", "pod"}, "uid"}, .restart = policy, .containers = {}};
    for (const auto& [name, kind] : containers) {
      plan.containers.push_back({.name = name, .image = "", .kind = kind, .command = {}});
      names_.push_back(name);
    }
    life_.emplace(plan);
  }
  // What is decided now; what starts runs.
  std::vector<std::string> Decide() {
    std::vector<std::string> said;
    for (const PodLife::Action& action : life_->Decide(now_)) {
      const std::string verb = action.kind == PodLife::Action::Kind::kStart       ? "start"
                               : action.kind == PodLife::Action::Kind::kTerminate ? "terminate"
                                                                                  : "kill";
      said.push_back(verb + " " + names_[action.container]);
      if (verb == "start") life_->container(action.container).OnStarted(now_, {});
    }
    return said;
  }
  void End(const std::string& name, int code) {
    const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
    life_->container(static_cast<std::size_t>(at)).OnEnded({.code = code}, now_);
  }

  std::optional<PodLife> life_;
  std::vector<std::string> names_;
  Time now_{};
};

TEST_F(PodLifeTest, InitContainersRunOneAfterTheOtherAndThenTheMainOnesTogether) {
  Make(RestartPolicy::kAlways,
       {{"i1", Kind::kInit}, {"i2", Kind::kInit}, {"a", Kind::kMain}, {"b", Kind::kMain}});
  EXPECT_THAT(Decide(), ElementsAre("start i1"));
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(life_->phase(), "Pending");
  End("i1", 0);
  EXPECT_THAT(Decide(), ElementsAre("start i2"));
  EXPECT_FALSE(life_->initialized());
  End("i2", 0);
  EXPECT_THAT(Decide(), ElementsAre("start a", "start b"));
  EXPECT_TRUE(life_->initialized());
  EXPECT_EQ(life_->phase(), "Running");
}

TEST_F(PodLifeTest, AnInitContainerThatFailsIsTriedAgainByTheBackOff) {
  Make(RestartPolicy::kOnFailure, {{"i", Kind::kInit}, {"a", Kind::kMain}});
  Decide();
  End("i", 1);
  EXPECT_THAT(Decide(), ElementsAre("start i")) << "the first time at once";
  End("i", 1);
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(life_->due(), now_ + 10s);
  now_ += 10s;
  EXPECT_THAT(Decide(), ElementsAre("start i"));
}

TEST_F(PodLifeTest, AnInitContainerThatFailsForGoodFailsThePod) {
  Make(RestartPolicy::kNever, {{"s", Kind::kSidecar}, {"i", Kind::kInit}, {"a", Kind::kMain}});
  EXPECT_THAT(Decide(), ElementsAre("start s"));
  EXPECT_THAT(Decide(), ElementsAre("start i"));
  End("i", 7);
  EXPECT_THAT(Decide(), ElementsAre("terminate s"));
  EXPECT_EQ(life_->phase(), "Pending") << "the sidecar still runs";
  End("s", 0);
  EXPECT_EQ(life_->phase(), "Failed");
  EXPECT_THAT(Decide(), IsEmpty());
}

TEST_F(PodLifeTest, WhatFollowsASidecarWaitsForItsStartAndNotForItsEnd) {
  Make(RestartPolicy::kAlways, {{"s", Kind::kSidecar}, {"i", Kind::kInit}, {"a", Kind::kMain}});
  EXPECT_THAT(Decide(), ElementsAre("start s"));
  EXPECT_THAT(Decide(), ElementsAre("start i"));
  End("i", 0);
  EXPECT_THAT(Decide(), ElementsAre("start a"));
  End("s", 0);
  End("a", 1);
  EXPECT_THAT(Decide(), ElementsAre("start s", "start a")) << "each by itself from here on";
}

TEST_F(PodLifeTest, WhenTheMainOnesAreThroughSidecarsEndInReverse) {
  Make(RestartPolicy::kNever, {{"s1", Kind::kSidecar}, {"s2", Kind::kSidecar}, {"a", Kind::kMain}});
  while (!Decide().empty()) {
  }
  End("a", 0);
  EXPECT_THAT(Decide(), ElementsAre("terminate s2"));
  EXPECT_EQ(life_->phase(), "Running") << "a Pod ends when nothing of it runs";
  End("s2", 143);
  EXPECT_THAT(Decide(), ElementsAre("terminate s1"));
  End("s1", 143);
  EXPECT_EQ(life_->phase(), "Succeeded") << "whatever the sidecars say";
}

TEST_F(PodLifeTest, ASidecarIsNotRestartedForAPodThatIsThrough) {
  Make(RestartPolicy::kNever, {{"s", Kind::kSidecar}, {"a", Kind::kMain}});
  while (!Decide().empty()) {
  }
  End("s", 1);
  End("a", 0);
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(life_->phase(), "Succeeded");
}

TEST_F(PodLifeTest, ADeletedPodsMainContainersEndFirstAndAllAreKilledAfterTheGrace) {
  Make(RestartPolicy::kAlways, {{"s", Kind::kSidecar}, {"a", Kind::kMain}, {"b", Kind::kMain}});
  while (!Decide().empty()) {
  }
  life_->End(now_ + 30s);
  EXPECT_THAT(Decide(), ElementsAre("terminate a", "terminate b"));
  EXPECT_THAT(Decide(), IsEmpty()) << "once each";
  End("a", 0);
  EXPECT_THAT(Decide(), IsEmpty()) << "the sidecar serves b";
  EXPECT_EQ(life_->due(), now_ + 30s);
  now_ += 30s;
  EXPECT_THAT(Decide(), ElementsAre("kill s", "kill b"));
  EXPECT_EQ(life_->due(), Time::max());
  End("b", 137);
  EXPECT_THAT(Decide(), ElementsAre("terminate s"));
  End("s", 137);
  EXPECT_EQ(life_->phase(), "Failed");
}

TEST_F(PodLifeTest, ADeletionThatHurriesOnlyBringsTheEndNearer) {
  Make(RestartPolicy::kAlways, {{"a", Kind::kMain}});
  Decide();
  life_->End(now_ + 30s);
  Decide();
  life_->End(now_ + 1s);
  life_->End(now_ + 60s);
  EXPECT_EQ(life_->due(), now_ + 1s);
}

TEST_F(PodLifeTest, NothingIsRestartedOnceThePodIsToGo) {
  Make(RestartPolicy::kAlways, {{"a", Kind::kMain}});
  Decide();
  End("a", 0);
  life_->End(now_ + 30s);
  now_ += 1h;
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(life_->phase(), "Succeeded");
}

TEST_F(PodLifeTest, APodWithOneContainerThatCannotBeTriedIsPending) {
  Make(RestartPolicy::kAlways, {{"a", Kind::kMain}, {"b", Kind::kMain}});
  EXPECT_EQ(life_->Decide(now_).size(), 2u);
  life_->container(0).OnStarted(now_, {});
  life_->container(1).OnUnable("CreateContainerConfigError", "no command", Time::max());
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(life_->phase(), "Pending");
  EXPECT_EQ(life_->due(), Time::max());
}

TEST_F(PodLifeTest, OfSeveralContainersOneFailureFailsThePodThatIsNotRestarted) {
  Make(RestartPolicy::kNever, {{"a", Kind::kMain}, {"b", Kind::kMain}});
  Decide();
  End("a", 1);
  EXPECT_THAT(Decide(), IsEmpty());
  EXPECT_EQ(life_->phase(), "Running");
  End("b", 0);
  EXPECT_EQ(life_->phase(), "Failed");
}

// A Pod of any shape, to which anything happens at any time; the seed of a life that breaks a rule
// is in the message.
class RandomLife {
 public:
  explicit RandomLife(std::uint64_t seed) : random_(seed), plan_(MakePlan()), life_(plan_) {}

  // Lives `steps` moments; "" or the rule that was broken.
  std::string Live(int steps) {
    for (int i = 0; i < steps && broken_.empty(); ++i) {
      Happen();
      for (auto actions = life_.Decide(now_); !actions.empty(); actions = life_.Decide(now_)) {
        for (const PodLife::Action& action : actions) Do(action);
      }
      CheckPhase();
    }
    return broken_;
  }

 private:
  PodPlan MakePlan() {
    PodPlan plan{.ref = {{"default", "pod"}, "uid"},
                 .restart = static_cast<RestartPolicy>(random_.Below(3)),
                 .containers = {}};
    for (std::uint64_t left = random_.Below(4); left > 0; --left) {
      const Kind kind = random_.Chance(0.5) ? Kind::kInit : Kind::kSidecar;
      plan.containers.push_back({.name = "i", .image = "", .kind = kind, .command = {}});
    }
    for (std::uint64_t left = 1 + random_.Below(3); left > 0; --left) {
      plan.containers.push_back({.name = "m", .image = "", .command = {}});
    }
    return plan;
  }
  void Happen() {
    now_ += std::chrono::seconds(random_.Below(30));
    if (random_.Chance(0.02)) {
      life_.End(now_ + 30s);
      ended_ = true;
    }
    const std::size_t i = random_.Below(life_.size());
    if (!life_.container(i).running() || !random_.Chance(0.6)) return;
    life_.container(i).OnEnded({.code = random_.Chance(0.5) ? 0 : 3}, now_);
  }
  void Do(const PodLife::Action& action) {
    ContainerLife& life = life_.container(action.container);
    if (action.kind != PodLife::Action::Kind::kStart) {
      if (!life.running()) broken_ = "a signal for what does not run";
      return;
    }
    if (ended_) broken_ = "a start after the Pod was asked to go";
    if (life.start_at() > now_) broken_ = "a start before its back-off was over";
    for (std::size_t i = 0; i < action.container && life.kind() != Kind::kSidecar; ++i) {
      const ContainerLife& before = life_.container(i);
      const bool through = before.kind() == Kind::kInit && before.succeeded();
      const bool beside = before.kind() == Kind::kSidecar && before.ever_ran();
      if (before.kind() != Kind::kMain && !through && !beside) broken_ = "a start out of turn";
    }
    life.OnStarted(now_, {});
  }
  void CheckPhase() {
    const std::string phase(life_.phase());
    const bool over = phase == "Succeeded" || phase == "Failed";
    if (over && life_.anything_runs()) broken_ = "an end while something runs";
    if (!over_.empty() && phase != over_) broken_ = "an end that was taken back";
    if (over) over_ = phase;
  }

  Random random_;
  const PodPlan plan_;
  PodLife life_;
  Time now_{};
  bool ended_ = false;
  std::string over_, broken_;
};

TEST(PodLifeOfAnyShape, KeepsItsOrderWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    ASSERT_EQ(RandomLife(seed).Live(200), "") << "seed " << seed;
  }
}

using LifeKind = ContainerLife::Kind;

const RunEnd kFailed{.code = 3, .reason = "Error"};
const RunEnd kDone{.code = 0, .reason = "Completed"};

// Starts when it may, fails after `ran`, and gives the wait that follows.
Duration WaitAfter(ContainerLife& life, Time& now, Duration ran) {
  now = std::max(now, life.start_at());
  life.OnStarted(now, {});
  now += ran;
  life.OnEnded(kFailed, now);
  return life.start_at() - now;
}

TEST(ContainerLife, IsRestartedAtOnceThenAfterTenSecondsDoublingToFiveMinutes) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  Time now{};
  for (const Duration wait : {0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    EXPECT_EQ(WaitAfter(life, now, 1s), wait);
  }
  EXPECT_EQ(life.restarts(), 7) << "the first start is none";
}

TEST(ContainerLife, ForgetsItsCrashesAfterARunOfMoreThanTenMinutes) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  Time now{};
  for (int i = 0; i < 5; ++i) WaitAfter(life, now, 1s);
  EXPECT_EQ(WaitAfter(life, now, 10min), 160s);
  EXPECT_EQ(WaitAfter(life, now, 10min + 1s), 0s);
  EXPECT_EQ(WaitAfter(life, now, 1s), 10s);
}

TEST(ContainerLife, OfPolicyAlwaysIsRestartedAfterSuccessToo) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  life.OnStarted(Time{}, {});
  life.OnEnded(kDone, Time{} + 1s);
  EXPECT_TRUE(life.restarts_again());
  EXPECT_FALSE(life.done());
}

TEST(ContainerLife, OfPolicyOnFailureEndsWithSuccess) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kOnFailure);
  life.OnStarted(Time{}, {});
  life.OnEnded(kFailed, Time{} + 1s);
  EXPECT_EQ(life.start_at(), Time{} + 1s);
  life.OnStarted(Time{} + 1s, {});
  life.OnEnded(kDone, Time{} + 2s);
  EXPECT_TRUE(life.succeeded());
  EXPECT_EQ(life.start_at(), Time::max());
  EXPECT_EQ(life.end_before(), kFailed);
}

TEST(ContainerLife, OfPolicyNeverRunsOnce) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kNever);
  life.OnStarted(Time{}, {});
  life.OnEnded(kFailed, Time{});
  EXPECT_TRUE(life.done());
  EXPECT_FALSE(life.succeeded());
}

TEST(ContainerLife, ThatInitializesIsThereToSucceedOnce) {
  ContainerLife life(LifeKind::kInit, RestartPolicy::kAlways);
  life.OnStarted(Time{}, {});
  life.OnEnded(kFailed, Time{});
  EXPECT_TRUE(life.restarts_again());
  life.OnStarted(Time{}, {});
  life.OnEnded(kDone, Time{});
  EXPECT_TRUE(life.succeeded());
}

TEST(ContainerLife, OfASidecarKnowsNoPolicyButAlways) {
  ContainerLife life(LifeKind::kSidecar, RestartPolicy::kNever);
  life.OnStarted(Time{}, {});
  life.OnEnded(kDone, Time{});
  EXPECT_TRUE(life.restarts_again());
}

TEST(ContainerLife, GoesOnWhereAnAgentBeforeLeftIt) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  life.Restore(4, kFailed, Time{} + 5s);
  EXPECT_EQ(life.start_at(), Time{} + 5s);
  life.OnStarted(Time{} + 5s, {});
  EXPECT_EQ(life.restarts(), 5);
  ContainerLife over(LifeKind::kMain, RestartPolicy::kNever);
  over.Restore(0, kDone, Time{});
  EXPECT_TRUE(over.succeeded());
}

TEST(ContainerLife, ThatCannotBeTriedIsNoRestart) {
  ContainerLife life(LifeKind::kMain, RestartPolicy::kAlways);
  life.OnUnable("CreateContainerConfigError", "no CDI file", Time{} + 10s);
  EXPECT_EQ(life.start_at(), Time{} + 10s);
  EXPECT_FALSE(life.ever_ran());
  life.OnStarted(Time{} + 10s, {});
  EXPECT_EQ(life.restarts(), 0);
  EXPECT_EQ(life.hindrance(), "");
}

}  // namespace
}  // namespace galen::agent
