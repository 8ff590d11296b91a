// A hundred runs of a cluster under faults, each from its seed. Replay one: ./dev sim SEED.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/environment.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_rules.h"
#include "tests/sim/sim_world.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kSeeds = 100;
constexpr int kSteps = 60;
// Backoffs reach 30 s, a deadline 10 s; a node's Pods wait for each other's claims.
constexpr Duration kConvergesWithin = 180s;

struct Outcome {
  std::string breach;  // the first one; "" = none
  std::vector<std::string> story;
};

std::string Line(SimWorld& world, const std::string& what) {
  return fmt::format("{:6.1f} s  {}",
                     std::chrono::duration<double>(world.loop().Now() - Time{}).count(), what);
}

// Leaves a breach with the step at which it was seen.
bool Found(Outcome& outcome, SimWorld& world, const std::vector<std::string>& breaches) {
  if (breaches.empty()) return false;
  outcome.breach = Line(world, breaches.front());
  return true;
}

Outcome Play(std::uint64_t seed) {
  Outcome outcome;
  SimWorld world(seed);
  SimFaults faults(world);
  SimRules rules(world);
  if (!world.Settle()) {
    outcome.breach = Line(world, "the Pods did not come up before any fault");
    return outcome;
  }
  for (int step = 0; step < kSteps; ++step) {
    outcome.story.push_back(Line(world, faults.Happen()));
    world.Pass(static_cast<int>(world.random().Below(4000)) * 1ms);
    if (Found(outcome, world, rules.Check())) return outcome;
  }
  faults.EndAll();
  outcome.story.push_back(Line(world, "all faults end"));
  world.Pass(kConvergesWithin);
  if (Found(outcome, world, rules.CheckConverged())) return outcome;
  const std::uint64_t writes = world.agent_writes();
  world.Pass(5s);
  if (world.agent_writes() != writes) {
    outcome.breach =
        Line(world, fmt::format("{} writes while nothing changed", world.agent_writes() - writes));
  }
  return outcome;
}

void ExpectNoBreach(std::uint64_t seed) {
  const Outcome outcome = Play(seed);
  if (outcome.breach.empty()) return;
  std::string story;
  for (const std::string& line : outcome.story) story += "\n  " + line;
  ADD_FAILURE() << "sim: seed " << seed << ": " << outcome.breach << "\nthe story:" << story;
}

TEST(Sim, ClustersUnderFaultsTellTheTruthInTheEnd) {
  if (const auto seed = Lookup(ReadEnvironment(), "GALEN_SIM_SEED")) {
    return ExpectNoBreach(std::stoull(*seed));
  }
  // Fewer where each takes ten times as long, under a sanitizer.
  const auto some = Lookup(ReadEnvironment(), "GALEN_SIM_SEEDS");
  const std::uint64_t seeds = some ? std::stoull(*some) : kSeeds;
  const std::uint64_t fresh = Random::Seed() % 1'000'000;
  fmt::print("sim: seeds 1 to {} and {}\n", seeds - 1, fresh);
  for (std::uint64_t seed = 1; seed < seeds; ++seed) ExpectNoBreach(seed);
  ExpectNoBreach(fresh);
}

TEST(Sim, TheSameSeedTellsTheSameStory) { EXPECT_EQ(Play(7).story, Play(7).story); }

}  // namespace
}  // namespace galen::sim
