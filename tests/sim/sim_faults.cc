#include "tests/sim/sim_faults.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace galen::sim {

using namespace std::chrono_literals;

// About a third of the steps change hardware: without changes there is nothing to get wrong.
struct FaultTable {
  static std::span<const FaultKind> Rows() {
    using F = SimFaults;
    static const FaultKind kRows[] = {
        {"device changes", 26, &F::BreakOrHeal, 0s, 4s},
        {"device flaps", 4, &F::Flap, 0s, 4s},
        {"many devices change", 3, &F::BreakMany, 0s, 4s},
        {"driver is killed", 4, &F::KillDriver, 0s, 4s},
        {"driver hangs", 4, &F::HangDriver, 0s, 4s},
        {"driver restarts", 3, &F::RestartDriver, 0s, 4s},
        {"driver hands over", 3, &F::HandOverDriver, 0s, 4s},
        {"stranger lies", 1, &F::StrangerLies, 0s, 4s},
        {"stranger hangs", 1, &F::StrangerHangs, 0s, 4s},
        {"stranger floods", 1, &F::StrangerFloods, 0s, 4s},
        {"slices are wiped", 1, &F::WipeSlices, 0s, 4s},
        {"agent is killed", 4, &F::KillAgent, 0s, 4s},
        {"agent dies at a write", 4, &F::KillAgentAtWrite, 0s, 4s},
        {"agent is upgraded", 3, &F::UpgradeAgent, 0s, 4s},
        {"disk fills up", 2, &F::FillDisk, 0s, 4s},
        {"sync fails", 2, &F::FailSync, 0s, 4s},
        {"disk hangs", 3, &F::HangDisk, 0s, 4s},
        {"clock steps", 3, &F::StepWallClock, 0s, 4s},
        {"node sleeps", 2, &F::Suspend, 0s, 4s},
        {"sockets are spoilt", 4, &F::SpoilSockets, 0s, 4s},
        {"way to the API is spoilt", 4, &F::SpoilApi, 0s, 4s},
        {"connections to the API are cut", 2, &F::CutApi, 0s, 4s},
        // Ten minutes of silence, in which nothing else begins.
        {"API outage", 1, &F::ApiOutage, 595s, 610s},
        {"requests are lost", 2, &F::LoseRequests, 0s, 4s},
        {"answers are lost", 2, &F::LoseAnswers, 0s, 4s},
        {"refusal storm", 4, &F::Storm, 0s, 4s},
        {"answers of writes are lost", 2, &F::LoseWrites, 0s, 4s},
        {"watches are slow", 3, &F::SlowWatches, 0s, 4s},
        {"events come twice", 2, &F::SendTwice, 0s, 4s},
        {"watches expire", 2, &F::ExpireWatches, 0s, 4s},
        {"watches are refused", 1, &F::RefuseWatches, 0s, 4s},
        {"watches are torn", 2, &F::TearWatches, 0s, 4s},
        {"bookmarks", 1, &F::SendBookmarks, 0s, 4s},
        {"Pod is replaced", 5, &F::ReplacePod, 0s, 4s},
        {"Pod is removed by force", 3, &F::RemovePod, 0s, 4s},
        {"claim goes to another Pod", 6, &F::PassClaimOn, 0s, 4s},
        {"Pod ends", 6, &F::EndPod, 0s, 4s},
        {"Pod is touched", 3, &F::TouchPod, 0s, 4s},
        {"node's object is overwritten", 2, &F::OverwriteNodeHealth, 0s, 4s},
        // Faults of order: another of the same name, a second while the first is under way.
        {"group is placed anew", 5, &F::PlaceGroup, 0s, 4s},
        {"Pod joins the group", 2, &F::JoinGroup, 0s, 4s},
        {"Pod is made again", 5, &F::RecreatePod, 0s, 4s},
        {"driver hands over at work", 3, &F::HandOverAtWork, 0s, 4s},
        {"watches expire twice", 2, &F::ExpireTwice, 0s, 4s},
        {"disk fails twice", 2, &F::FailDiskTwice, 0s, 4s},
        {"API is away twice", 1, &F::TwoOutages, 0s, 4s},
        {"devices change slices", 2, &F::MoveDevices, 0s, 4s},
        // The first kRowsOnce end here.
        {"Pod is made again unseen", 4, &F::RecreateUnseen, 0s, 4s},
        {"group is placed anew unseen", 2, &F::PlaceGroupUnseen, 0s, 4s},
        {"news comes during a write", 3, &F::NewsDuringWrite, 0s, 4s},
        {"Pods come while the disk hangs", 2, &F::PodsDuringHang, 0s, 4s},
        {"Pod ends with a fault", 3, &F::EndWithFault, 0s, 4s},
        {"Pod ends before a fault", 2, &F::EndBeforeFault, 0s, 4s},
        {"news comes before an answer", 2, &F::NewsDuringAnswer, 0s, 4s},
        {"Pod names another's claim", 2, &F::NameAnothersClaim, 0s, 4s},
    };
    return kRows;
  }
};

std::span<const FaultKind> SimFaults::Kinds() { return FaultTable::Rows(); }

SimFaults::Rows SimFaults::OrderRows() {
  const auto first = std::ranges::find(Kinds(), "group is placed anew", &FaultKind::name);
  return {static_cast<std::size_t>(first - Kinds().begin()), Kinds().size()};
}

SimPlan SimFaults::Draw(Random& random, int steps, Rows rows) {
  std::uint64_t weights = 0;
  for (std::size_t row = rows.first; row < rows.end; ++row) {
    weights += static_cast<std::uint64_t>(Kinds()[row].weight);
  }
  SimPlan plan;
  for (int i = 0; i < steps; ++i) {
    std::uint64_t drawn = random.Below(weights);
    std::size_t row = rows.first;
    while (drawn >= static_cast<std::uint64_t>(Kinds()[row].weight)) {
      drawn -= static_cast<std::uint64_t>(Kinds()[row++].weight);
    }
    const FaultKind& kind = Kinds()[row];
    const auto spread = static_cast<std::uint64_t>((kind.most - kind.least) / 1ms);
    plan.push_back({row, random.Next(), kind.least + static_cast<int>(random.Below(spread)) * 1ms});
  }
  return plan;
}

std::string SimFaults::Happen(const SimStep& step) {
  Random chance(step.chance);
  SimNode& node = *world_.nodes()[chance.Below(world_.nodes().size())];
  return fmt::format("{}: {}", node.name(), (this->*Kinds()[step.kind].begin)(node, chance));
}

void SimFaults::Hold(SimNode& node, const std::string& what, Duration d,
                     std::function<void()> end) {
  const std::string key = node.name() + " " + what;
  node.Disturb();
  Held& held = held_[key];
  held.until = std::max(held.until, world_.loop().Now() + d);
  held.end = [&node, end = std::move(end)] {
    node.Disturb();
    end();
  };
  held.timer = world_.loop().At(held.until, [this, key] { End(key); });
}

void SimFaults::End(const std::string& key) {
  const auto held = held_.extract(key);
  if (held) held.mapped().end();
}

void SimFaults::Again(const std::string& key, int times, Duration every,
                      std::function<void()> act) {
  if (times == 0) return;
  again_[key] = world_.loop().After(every, [this, key, times, every, act] {
    // A copy of each: asking again replaces the timer that holds them.
    const auto again = act;
    again();
    Again(key, times - 1, every, again);
  });
}

void SimFaults::EndAll() {
  again_.clear();
  // Disks before the agents that open their journals on them.
  for (const auto& node : world_.nodes()) {
    for (const char* of_disk : {kDiskRoom, kDiskSync, kDiskAnswer}) {
      End(node->name() + " " + of_disk);
    }
  }
  while (!held_.empty()) End(held_.begin()->first);
  for (const auto& node : world_.nodes()) {
    node->Disturb();
    node->BringAgentBack();
  }
}

}  // namespace galen::sim
