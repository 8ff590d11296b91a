// The rules themselves: agents that are broken on purpose are found, by the rule that they break
// and in a story short enough to be read; and what is left of a plan is what the breach needs.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "base/data/yaml.h"
#include "kube/request.h"
#include "tests/sim/sim_play.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A mutant shows only where something happens that it gets wrong; soon something does.
constexpr std::uint64_t kCheckedSeeds = 20;

// For gtest, which takes letters and digits.
std::string NameOf(AgentMutant mutant) {
  std::string name;
  for (const char c : ToString(mutant)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
}

struct Expected {
  AgentMutant mutant;
  std::string rule;
  std::size_t faults_most;  // of the shortest story
};

class Mutant : public testing::TestWithParam<Expected> {};

TEST_P(Mutant, IsFoundByItsRuleInAShortStory) {
  const auto& [mutant, rule, faults_most] = GetParam();
  std::string others;
  for (std::uint64_t seed = 1; seed <= kCheckedSeeds; ++seed) {
    const SimCase what = MakeCase(seed, mutant);
    const Breach breach = Play(what).breach;
    if (breach.rule != rule) {
      others += "\n" + breach.rule + ": " + breach.text;
      continue;
    }
    const SimCase small = Shrink(what, rule);
    const SimOutcome outcome = Play(small);
    fmt::print("an agent that {}: {}\n", ToString(mutant), Describe(small, outcome));
    EXPECT_EQ(outcome.breach.rule, rule);
    EXPECT_LE(small.plan.size(), faults_most);
    // The sound agent has no part in it.
    SimCase sound = small;
    sound.mutant = AgentMutant::kNone;
    EXPECT_EQ(Play(sound).breach.rule, "") << Play(sound).breach.text;
    return;
  }
  FAIL() << "no seed of " << kCheckedSeeds << " shows that the agent " << ToString(mutant)
         << others;
}

INSTANTIATE_TEST_SUITE_P(All, Mutant,
                         testing::Values(Expected{AgentMutant::kDatesBack, "order", 4},
                                         Expected{AgentMutant::kForgetsItsJournal, "kept", 2},
                                         Expected{AgentMutant::kRecordsLate, "recorded", 1},
                                         Expected{AgentMutant::kHealthyForEver, "deadline", 3},
                                         Expected{AgentMutant::kPublishesAnother, "holding", 1},
                                         Expected{AgentMutant::kWritesForNothing, "cause", 1},
                                         Expected{AgentMutant::kForgetsItsRecords, "record", 4},
                                         Expected{AgentMutant::kDeafAfterASecond410, "converged",
                                                  4},
                                         Expected{AgentMutant::kDropsAChange, "converged", 5},
                                         Expected{AgentMutant::kStopsPublishing, "converged", 3}),
                         [](const auto& row) { return NameOf(row.param.mutant); });

// An agent that is broken and the one fault that shows it, without a search: `chance` of it is
// tried until it falls on something that matters.
struct OneFault {
  AgentMutant mutant;
  std::string rule, fault;
  Duration pause{};  // after it, before everything ends
};

class OneFaultStory : public testing::TestWithParam<OneFault> {};

TEST_P(OneFaultStory, ShowsTheBrokenAgentAndNotTheSoundOne) {
  const auto& [mutant, rule, fault, pause] = GetParam();
  const auto kinds = SimFaults::Kinds();
  const auto kind = std::ranges::find(kinds, fault, &FaultKind::name);
  ASSERT_NE(kind, kinds.end());
  const auto number = static_cast<std::size_t>(kind - kinds.begin());
  std::string found;
  for (std::uint64_t chance = 1; chance <= kCheckedSeeds && found.empty(); ++chance) {
    SimCase what{1, {{number, chance, pause}}, mutant, {}};
    found = Play(what).breach.rule;
    if (found.empty()) continue;
    what.mutant = AgentMutant::kNone;
    const SimOutcome sound = Play(what);
    EXPECT_TRUE(sound.ok()) << Describe(what, sound);
  }
  EXPECT_EQ(found, rule) << "an agent that " << ToString(mutant);
}

INSTANTIATE_TEST_SUITE_P(
    All, OneFaultStory,
    testing::Values(
        // It is down when the plan ends, so that it starts when all faults end and not before.
        OneFault{AgentMutant::kForgetsItsJournal, "kept", "agent is killed", 0s},
        OneFault{AgentMutant::kReadsNoJournal, "kept", "agent is killed", 0s},
        OneFault{AgentMutant::kCountsTwice, "counted", "device changes", 10s},
        OneFault{AgentMutant::kCountsOnce, "counted", "device flaps", 10s},
        OneFault{AgentMutant::kRecordsAnothers, "record", "Pod ends", 10s},
        OneFault{AgentMutant::kForgetsTheFirstEvent, "counted", "device changes", 10s},
        OneFault{AgentMutant::kMixesSerials, "identity", "bookmarks", 0s},
        OneFault{AgentMutant::kKeepsTheGroupsDevice, "holding", "group is placed anew", 10s},
        OneFault{AgentMutant::kTakesOldReports, "order", "device flaps", 10s},
        OneFault{AgentMutant::kNeverResets, "prepared", "Pod is made again", 10s},
        OneFault{AgentMutant::kWritesAnothers, "ours", "bookmarks", 0s},
        OneFault{AgentMutant::kListsAnother, "holding", "bookmarks", 0s},
        OneFault{AgentMutant::kPublishesUnknownLate, "deadline", "driver is killed", 40s}),
    [](const auto& row) { return NameOf(row.param.mutant); });

TEST(Allocation, OfADeviceToTwoClaimsIsFound) {
  SimWorld world(1);
  SimRules rules(world);
  ASSERT_TRUE(world.Settle());
  EXPECT_THAT(rules.Check(), IsEmpty());
  // The named claim is nobody's yet.
  const auto allocated = std::ranges::find_if(
      world.claims(), [](const auto& entry) { return !entry.second.devices.empty(); });
  ASSERT_NE(allocated, world.claims().end());
  const auto& [key, claim] = *allocated;
  ASSERT_FALSE(claim.reserved_for.empty());
  const DeviceId device = claim.devices[0].device;
  const PodRef pod = claim.reserved_for[0];
  // As a scheduler would that does not see the first.
  world.Ask(kube::Create(kube::kResourceClaims, key.ns, *ParseYaml(R"(
    {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: second}, spec: {devices:
    {requests: [{name: main, exactly: {deviceClassName: gpu}}]}}})")));
  world.Ask(kube::Patch(
      kube::kResourceClaims, key.ns, "second", kube::PatchType::kMerge,
      *ParseYaml(fmt::format(
          "{{status: {{allocation: {{devices: {{results: [{{request: main, driver: {}, pool: {}, "
          "device: {}}}]}}}}, reservedFor: [{{resource: pods, name: {}, uid: {}}}]}}}}",
          device.driver, device.pool, device.device, pod.key.name, pod.uid)),
      {.subresource = "status"}));
  world.Pass(1s);
  const std::vector<Breach> breaches = rules.Check();
  // Nobody prepared it, either.
  ASSERT_THAT(breaches, SizeIs(2));
  EXPECT_EQ(breaches[0].rule, "allocation");
  EXPECT_THAT(breaches[0].text, HasSubstr("second"));
  EXPECT_EQ(breaches[1].rule, "prepared");
}

// What the rules find when the one Pod of the world's first node has ended with its device in
// `state`, its agent is dead, and somebody writes that the device is in `written`.
std::vector<Breach> FoundWhenRewritten(HealthState state, std::string_view written,
                                       bool repaired = false) {
  SimWorld world(1);
  SimRules rules(world);
  EXPECT_TRUE(world.Settle());
  const auto [key, pod] = *world.pods().begin();
  const DeviceId device = world.DevicesOf(pod).at(0);
  SimNode& node = *world.node(pod.node);
  node.driver(device.driver).Break(device.device, state);
  world.Pass(20s);
  world.EndPod(pod, 139);
  world.Pass(2s);
  if (repaired) node.driver(device.driver).Break(device.device, HealthState::kHealthy);
  world.Pass(18s);
  EXPECT_THAT(rules.Check(), IsEmpty());
  node.KillAgent(false);
  Json patch;
  patch["metadata"]["annotations"][kube::kDevicesAnnotation] =
      fmt::format("{} {}", device.device, written);
  world.Ask(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kMerge, patch));
  world.Pass(1s);
  std::vector<Breach> breaches = rules.Check();
  if (!breaches.empty()) return breaches;
  // Longer than an agent that was cut off needs to take it back.
  world.Pass(kCalmAfter);
  return rules.Check();
}

TEST(Evidence, OfAnEndedPodThatIsLostOrInventedIsFound) {
  const std::vector<Breach> lost = FoundWhenRewritten(HealthState::kUnhealthy, "Healthy");
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].rule, "evidence");
  EXPECT_THAT(lost[0].text, HasSubstr("does no more"));
  const std::vector<Breach> invented = FoundWhenRewritten(HealthState::kHealthy, "Unhealthy");
  ASSERT_THAT(invented, SizeIs(1));
  EXPECT_EQ(invented[0].rule, "evidence");
  EXPECT_THAT(invented[0].text, HasSubstr("that came later"));
}

TEST(Evidence, OfAPodWhoseDeviceIsRepairedSoonIsLostAllTheSame) {
  const std::vector<Breach> lost = FoundWhenRewritten(HealthState::kUnhealthy, "Healthy", true);
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].rule, "evidence");
}

TEST(Record, OfAPodThatIsGoneIsMissed) {
  SimWorld world(1);
  SimRules rules(world);
  ASSERT_TRUE(world.Settle());
  const auto [key, pod] = *world.pods().begin();
  SimNode& node = *world.node(pod.node);
  world.Pass(10s);
  world.DeletePod(key, true);
  const auto missed = [&] {
    world.Pass(20s);
    std::string texts;
    for (const Breach& breach : rules.CheckConverged()) {
      if (breach.rule == "record") texts += breach.text;
    }
    return texts;
  };
  EXPECT_EQ(missed(), "");
  node.BreakAgent(AgentMutant::kForgetsItsRecords);
  node.KillAgent(false);
  node.StartAgent();
  EXPECT_THAT(missed(), HasSubstr("has no record"));
}

TEST(Plan, OfAPodMeansTheSameWhenAnEarlierOneIsLeftOut) {
  const auto kinds = SimFaults::Kinds();
  const auto kind = std::ranges::find(kinds, "Pod is replaced", &FaultKind::name);
  const auto number = static_cast<std::size_t>(kind - kinds.begin());
  // What happens to the last of them: who takes whose place.
  const auto last = [&](const SimPlan& plan) {
    const SimOutcome outcome = Play({1, plan, AgentMutant::kNone, 1s});
    EXPECT_TRUE(outcome.ok()) << outcome.breach.text;
    const std::string line = outcome.story[plan.size() - 1];
    return line.substr(line.find("Pod "));
  };
  // Two that fall on different Pods: "Pod pod-3 is deleted, late-3-2f9c01d4 is made".
  const SimStep early{number, 1, 20s}, late{number, 3, 20s};
  const std::string alone = last({late});
  EXPECT_NE(last({early}).substr(0, 9), alone.substr(0, 9));
  EXPECT_EQ(last({early, late}), alone);
}

TEST(Plan, OfASeedIsTheSameEachTimeAndUsesManyKinds) {
  EXPECT_EQ(MakeCase(3).plan, MakeCase(3).plan);
  EXPECT_NE(MakeCase(3).plan, MakeCase(4).plan);
  std::size_t most = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const SimStep& step : MakeCase(seed).plan) most = std::max(most, step.kind);
  }
  EXPECT_EQ(most + 1, SimFaults::Kinds().size());
}

TEST(Story, IsNumberedAndEndsWithTheBreach) {
  const SimCase what{1, {}, AgentMutant::kNone, {}};
  SimOutcome outcome{{"deadline", "pod-1 says Healthy"}, {"1 s  a", "2 s  pod-1 says Healthy"}, 0};
  EXPECT_EQ(
      Describe(what, outcome),
      "seed 1, 0 faults, broken rule \"deadline\"\n   1. 1 s  a\n   2. 2 s  pod-1 says Healthy");
}

}  // namespace
}  // namespace galen::sim
