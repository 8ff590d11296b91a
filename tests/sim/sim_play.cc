#include "tests/sim/sim_play.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// Backoffs reach a minute; a node's Pods wait for each other's claims.
constexpr Duration kConvergesWithin = 180s;
// Rules are looked at this often.
constexpr Duration kLookEvery = 4s;
// What no rule looks at follows by then: the longest backoff of the node's object is a minute.
constexpr Duration kDetailsWithin = 60s;
// Nothing is written for so long then.
constexpr Duration kQuietFor = 30s;

// A world, what goes wrong in it and what must hold, while it is played.
class Stage {
 public:
  Stage(std::uint64_t seed, AgentMutant mutant) : world(seed), faults(world), rules(world) {
    for (const auto& node : world.nodes()) node->BreakAgent(mutant);
  }

  void Say(const std::string& what) {
    const double seconds = std::chrono::duration<double>(world.loop().Now() - Time{}).count();
    story.push_back(fmt::format("{:7.1f} s  {}", seconds, what));
  }

  // Lets time pass under the rules' eyes; false at the first breach.
  bool Pass(Duration d) {
    do {
      const Duration some = std::min(d, kLookEvery);
      world.Pass(some);
      d -= some;
      if (Found(rules.Check())) return false;
    } while (d > Duration::zero());
    return true;
  }

  // Faults end, and soon everything must be as it should; then nobody writes any more.
  bool Converge() {
    faults.EndAll();
    Say("all faults end");
    // Agents that were away have started just now: what is wrong with that shows only once.
    if (Found(rules.Check())) return false;
    const Time end = world.loop().Now() + kConvergesWithin;
    std::vector<Breach> left = rules.CheckConverged();
    while (!left.empty() && world.loop().Now() < end) {
      if (!Pass(2s)) return false;
      left = rules.CheckConverged();
    }
    if (Found(left) || !Pass(kDetailsWithin)) return false;
    rules.Rest(true);
    if (!Pass(kQuietFor)) return false;
    rules.Rest(false);
    return !Found(rules.CheckConverged());
  }

  // False when the Pods do not come up before any fault.
  bool Settle() {
    // What the first fault meets is known to the rules.
    if (world.Settle()) return !Found(rules.Check());
    Found({{"settles", "the Pods did not come up before any fault"}});
    return false;
  }

  bool Found(const std::vector<Breach>& breaches) {
    if (breaches.empty()) return false;
    breach = breaches.front();
    Say(breach.text);
    return true;
  }

  SimWorld world;
  SimFaults faults;
  SimRules rules;
  Breach breach;
  std::vector<std::string> story;
};

// The case without some of its steps; their time passes all the same.
SimCase Without(const SimCase& what, std::size_t at, std::size_t count) {
  SimCase rest = what;
  const auto begin = rest.plan.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  Duration& before = at == 0 ? rest.before : std::prev(begin)->pause;
  for (auto step = begin; step != end; ++step) before += step->pause;
  rest.plan.erase(begin, end);
  return rest;
}

bool Breaks(const SimCase& what, std::string_view rule) { return Play(what).breach.rule == rule; }

}  // namespace

SimCase MakeCase(std::uint64_t seed, AgentMutant mutant) {
  SimCase what = MakeCaseOf(seed, SimFaults::Kinds().size());
  what.mutant = mutant;
  return what;
}

SimCase MakeCaseOf(std::uint64_t seed, std::size_t rows) {
  // Apart from the world's chance, which is the seed's too.
  Random random(seed ^ 0x9e3779b97f4a7c15u);
  return {seed, SimFaults::Draw(random, kSteps, {0, rows}), AgentMutant::kNone, {}};
}

SimCase MakeOrderCase(std::uint64_t seed) {
  Random random(seed ^ 0x9e3779b97f4a7c15u);
  return {
      seed, SimFaults::Draw(random, kOrderSteps, SimFaults::OrderRows()), AgentMutant::kNone, {}};
}

SimOutcome Play(const SimCase& what) {
  Stage stage(what.seed, what.mutant);
  SimOutcome outcome;
  const auto run = [&] {
    if (!stage.Settle()) return;
    if (what.before > Duration::zero() && !stage.Pass(what.before)) return;
    for (const SimStep& step : what.plan) {
      ++outcome.steps;
      stage.Say(stage.faults.Happen(step));
      if (!stage.Pass(step.pause)) return;
    }
    stage.Converge();
  };
  run();
  outcome.breach = stage.breach;
  outcome.story = std::move(stage.story);
  outcome.digest = Fnv1a(stage.world.Version(), stage.rules.digest());
  return outcome;
}

SimCase Shrink(SimCase failing, std::string_view rule) {
  int replays = 0;
  // Nothing after the breach was needed.
  failing.plan.resize(std::min(failing.plan.size(), Play(failing).steps));
  std::size_t size = std::max<std::size_t>(failing.plan.size() / 2, 1);
  while (!failing.plan.empty()) {
    bool shorter = false;
    for (std::size_t at = 0; at < failing.plan.size() && replays < kReplaysMax;) {
      const std::size_t count = std::min(size, failing.plan.size() - at);
      SimCase rest = Without(failing, at, count);
      ++replays;
      if (Breaks(rest, rule)) {
        failing = std::move(rest);
        shorter = true;
      } else {
        at += count;
      }
    }
    // Single steps until none can go: one may have been needed by another only.
    if (replays >= kReplaysMax || (size == 1 && !shorter)) break;
    size = std::max<std::size_t>(size / 2, 1);
  }
  return failing;
}

std::string Describe(const SimCase& what, const SimOutcome& outcome) {
  std::string text = fmt::format("seed {}, {} faults", what.seed, what.plan.size());
  if (!outcome.ok()) text += fmt::format(", broken rule \"{}\"", outcome.breach.rule);
  for (std::size_t i = 0; i < outcome.story.size(); ++i) {
    text += fmt::format("\n  {:2}. {}", i + 1, outcome.story[i]);
  }
  return text;
}

LongRun PlayLong(std::uint64_t seed, std::uint64_t events) {
  // A rest after so many faults: what is broken for good then shows near its cause.
  constexpr int kFaultsARest = 40;
  // Limits of one machine's hardware, in the time that a fault has.
  constexpr int kBurst = 250;
  Stage stage(seed, AgentMutant::kNone);
  LongRun run;
  Random random(seed ^ 0x9e3779b97f4a7c15u);
  bool fine = stage.Settle();
  while (fine && stage.world.device_events() < events) {
    stage.story.clear();
    for (const SimStep& step : SimFaults::Draw(random, kFaultsARest, {})) {
      stage.Say(stage.faults.Happen(step));
      for (const auto& node : stage.world.nodes()) stage.faults.Burst(*node, kBurst, random.Next());
      fine = stage.Pass(step.pause);
      if (!fine) break;
    }
    fine = fine && stage.Converge();
  }
  run.breach = stage.breach;
  run.story = std::move(stage.story);
  run.events = stage.world.device_events();
  run.writes = stage.rules.writes();
  run.lasted = stage.world.loop().Now() - Time{};
  return run;
}

}  // namespace galen::sim
