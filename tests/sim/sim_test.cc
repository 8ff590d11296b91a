// Two hundred clusters under faults, each from its seed, a hundred under a few faults of order, and
// one that lives long. Play one again: ./dev sim SEED. The long one in full: ./dev sim.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/random.h"
#include "tests/sim/sim_play.h"

namespace galen::sim {
namespace {

constexpr std::uint64_t kSeeds = 200;
// Steps of the long run, unless GALEN_SIM_EVENTS says otherwise.
constexpr std::uint64_t kEvents = 10'000;
// Seeds that chance drew and that broke a rule, by the first so many rows of the table of faults.
// 308306: an agent is killed in a sync, and the next one publishes what the disk has of it. 631 and
// 1943: the faults end in the moment in which an agent does its last operation, and the world left
// it dead. 503: a machine sleeps after its disk was full, and the rule took its sleep for time to
// try again in. 1238: the deletion of a Pod whose claims were let go of met a conflict and was not
// tried again. 726: a group's claim is allocated anew before the agent sees that its Pods have
// ended. 1415 and 1524: the agent first sees a Pod of the group, as Pending, when that has
// happened.
constexpr std::size_t kRowsOnce = 47;
constexpr std::uint64_t kOnceBroken[] = {308306, 503, 631, 1943, 1238, 726, 1415, 1524};

std::uint64_t NumberOf(const std::string& variable, std::uint64_t otherwise) {
  const auto given = Lookup(ReadEnvironment(), variable);
  return given && !given->empty() ? std::stoull(*given) : otherwise;
}

// Whether one breach is enough, which is not made shorter: tests/mutate/order.sh asks only for
// that.
bool OneIsEnough() { return NumberOf("GALEN_SIM_ONE_BREACH", 0) != 0; }

// The shortest story that breaks the same rule; "" when none broke.
std::string Judge(const SimCase& what) {
  const SimOutcome outcome = Play(what);
  if (outcome.ok()) return "";
  if (OneIsEnough()) {
    return fmt::format("seed {} breaks \"{}\": {}", what.seed, outcome.breach.rule,
                       outcome.breach.text);
  }
  const SimCase small = Shrink(what, outcome.breach.rule);
  return Describe(small, Play(small)) + "\nof " + Describe(what, outcome);
}

// Clusters share nothing, so two cores play two of them at a time.
std::vector<std::string> JudgeAll(const std::vector<SimCase>& cases) {
  std::vector<std::string> verdicts(cases.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> enough = false;
  const auto play = [&] {
    for (std::size_t i = next++; i < cases.size() && !enough; i = next++) {
      verdicts[i] = Judge(cases[i]);
      if (!verdicts[i].empty() && OneIsEnough()) enough = true;
    }
  };
  std::thread other(play);
  play();
  other.join();
  return verdicts;
}

// Plays one cluster again, which is another one for each way to make a case of a seed.
void PlayAgain(const SimCase& what) {
  fmt::print("sim: {}\n", Describe(what, Play(what)));
  EXPECT_EQ(Judge(what), "");
}

TEST(Sim, ClustersUnderAFewFaultsOfOrderShowTheTruthInTheEnd) {
  if (const std::uint64_t seed = NumberOf("GALEN_SIM_SEED", 0); seed != 0) {
    return PlayAgain(MakeOrderCase(seed));
  }
  std::vector<SimCase> cases;
  const std::uint64_t first = NumberOf("GALEN_SIM_FIRST", 1);
  const std::uint64_t end = first - 1 + NumberOf("GALEN_SIM_SEEDS", kSeeds) / 2;
  for (std::uint64_t seed = first; seed < end; ++seed) cases.push_back(MakeOrderCase(seed));
  cases.push_back(MakeOrderCase(Random::Seed() % 1'000'000));
  fmt::print("sim: seeds {} to {} and {}, of order\n", first, end - 1, cases.back().seed);
  for (const std::string& verdict : JudgeAll(cases)) {
    EXPECT_EQ(verdict, "") << "once more: ./dev sim --order SEED";
  }
}

TEST(Sim, ClustersUnderFaultsShowTheTruthInTheEnd) {
  if (const std::uint64_t seed = NumberOf("GALEN_SIM_SEED", 0); seed != 0) {
    return PlayAgain(MakeCase(seed));
  }
  // Fewer where each takes ten times as long, under a sanitizer.
  std::vector<SimCase> cases;
  const std::uint64_t first = NumberOf("GALEN_SIM_FIRST", 1);
  const std::uint64_t end = first - 1 + NumberOf("GALEN_SIM_SEEDS", kSeeds);
  for (std::uint64_t seed = first; seed < end; ++seed) cases.push_back(MakeCase(seed));
  for (const std::uint64_t seed : kOnceBroken) cases.push_back(MakeCaseOf(seed, kRowsOnce));
  cases.push_back(MakeCase(Random::Seed() % 1'000'000));
  fmt::print("sim: seeds {} to {}, those that once broke a rule, and {}\n", first, end - 1,
             cases.back().seed);
  for (const std::string& verdict : JudgeAll(cases)) EXPECT_EQ(verdict, "");
}

// Blocks of drawn sizes, half of them freed, so that what is made next lies in another order.
class UsedHeap {
 public:
  explicit UsedHeap(Random& random) {
    for (int i = 0; i < 20'000; ++i) blocks_.emplace_back(1 + random.Below(1'000), ' ');
    for (int i = 0; i < 10'000; ++i) blocks_[random.Below(blocks_.size())] = {};
  }

 private:
  std::vector<std::string> blocks_;
};

TEST(Sim, TheSameSeedGivesTheSameRun) {
  const std::uint64_t chance = Random::Seed();
  fmt::print("sim: heap of seed {}\n", chance);
  Random random(chance);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const SimOutcome once = Play(MakeCase(seed));
    const UsedHeap heap(random);
    const SimOutcome again = Play(MakeCase(seed));
    EXPECT_EQ(once.story, again.story);
    // The story has only the plan; this adds what the agents did.
    EXPECT_EQ(once.digest, again.digest) << "seed " << seed;
  }
}

TEST(Sim, AnotherPlanOfTheSameSeedIsAnotherRun) {
  EXPECT_NE(Play({.seed = 7, .plan = {}}).digest, Play(MakeCase(7)).digest);
}

TEST(Sim, AClusterThatLivesLongShowsTheTruthWheneverItRests) {
  const std::uint64_t seed = NumberOf("GALEN_SIM_SEED", Random::Seed() % 1'000'000);
  const std::uint64_t events = NumberOf("GALEN_SIM_EVENTS", kEvents);
  const LongRun run = PlayLong(seed, events);
  fmt::print("sim: seed {}: {} device events in {} of simulated time, {} writes\n", seed,
             run.events, FormatAge(run.lasted), run.writes);
  std::string story;
  for (const std::string& line : run.story) story += "\n  " + line;
  EXPECT_EQ(run.breach.rule, "") << run.breach.text << "\nseed " << seed << story;
  EXPECT_GE(run.events, events) << "seed " << seed << story;
}

}  // namespace
}  // namespace galen::sim
