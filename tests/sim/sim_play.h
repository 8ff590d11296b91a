// One simulated cluster from its start to its verdict, and how a run that broke a rule is made
// short enough to be read. The same case gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/agent_mutant.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_rules.h"

namespace galen::sim {

// What is played: the plan's faults on the seed's cluster.
struct SimCase {
  std::uint64_t seed = 0;
  SimPlan plan;
  AgentMutant mutant = AgentMutant::kNone;  // of every node's agent
  Duration before{};                        // passes before the first fault
};

struct SimOutcome {
  Breach breach;                   // the first one; no rule: none
  std::vector<std::string> story;  // a line for each step, with its time, and for the end
  std::size_t steps = 0;           // of the plan that were played
  // A digest of all that agents wrote, with its times, and of where the API was in the end.
  std::uint64_t digest = 0;

  bool ok() const { return breach.rule.empty(); }
};

// How many faults a cluster of the ordinary tests meets.
inline constexpr int kSteps = 50;

SimCase MakeCase(std::uint64_t seed, AgentMutant mutant = AgentMutant::kNone);
// The same by the first so many rows of the table of faults, as it was when there were no more.
SimCase MakeCaseOf(std::uint64_t seed, std::size_t rows);
// A few faults of order and no others: what they leave behind is looked at while nothing else has
// hidden it.
inline constexpr int kOrderSteps = 6;
SimCase MakeOrderCase(std::uint64_t seed);
SimOutcome Play(const SimCase& what);

// Leaves out of the plan what the breach of `rule` does not need: halves first, then quarters, then
// single steps, as long as the run still breaks the rule. What is left happens when it did. At most
// kReplaysMax runs. REQUIRES: it breaks it.
inline constexpr int kReplaysMax = 150;
SimCase Shrink(SimCase failing, std::string_view rule);

// The story of a case, numbered, with the rule that broke.
std::string Describe(const SimCase& what, const SimOutcome& outcome);

// One cluster that lives on until its hardware changed `events` times: faults, bursts of changes,
// and now and then a rest in which everything must converge. Its breach, which ends it, or none.
struct LongRun {
  Breach breach;
  std::vector<std::string> story;  // of the last while
  std::uint64_t events = 0;
  std::uint64_t writes = 0;  // to Pods and nodes' objects
  Duration lasted{};         // of simulated time
};
LongRun PlayLong(std::uint64_t seed, std::uint64_t events);

}  // namespace galen::sim
