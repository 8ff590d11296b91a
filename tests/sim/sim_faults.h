// What goes wrong, as a plan of small values: each step is one kind of fault, what it draws from,
// and how long until the next. A step means the same whatever comes before it, so that a plan of
// which steps were left out can be played again. A fault ends by itself after its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/sim_world.h"

namespace galen::sim {

class SimFaults;

// A row of the table of all faults.
struct FaultKind {
  std::string_view name;
  // How often it is drawn, beside the others'.
  int weight = 0;
  // Begins it on a node; gives what happened, as text.
  std::string (SimFaults::*begin)(SimNode& node, Random& chance) = nullptr;
  Duration least{}, most{};  // how long the story goes on before the next step
};

struct SimStep {
  std::size_t kind = 0;      // in SimFaults::Kinds()
  std::uint64_t chance = 0;  // of all that the step draws
  Duration pause{};

  bool operator==(const SimStep&) const = default;
};
using SimPlan = std::vector<SimStep>;

// In whole milliseconds. REQUIRES: least < most.
inline Duration Between(Random& chance, Duration least, Duration most) {
  constexpr Duration kStep = std::chrono::milliseconds(1);
  return least +
         static_cast<int>(chance.Below(static_cast<std::uint64_t>((most - least) / kStep))) * kStep;
}

class SimFaults {
 public:
  // The world outlives this.
  explicit SimFaults(SimWorld& world) : world_(world) {}

  static std::span<const FaultKind> Kinds();
  // The rows of the table that faults are drawn from, `end` not among them: plans that were drawn
  // before there were more rows stay the same.
  struct Rows {
    std::size_t first = 0;
    std::size_t end = Kinds().size();
  };
  static SimPlan Draw(Random& random, int steps, Rows rows);
  // Those of order.
  static Rows OrderRows();

  // Gives what happens, as text, for the story of a failing seed.
  std::string Happen(const SimStep& step);
  // Any of the node's devices change so often, one every few milliseconds.
  void Burst(SimNode& node, int changes, std::uint64_t chance);
  // Everything that was taken away comes back; broken hardware stays as it is.
  void EndAll();

 private:
  friend struct FaultTable;

  // Hardware.
  std::string BreakOrHeal(SimNode& node, Random& chance);
  std::string Flap(SimNode& node, Random& chance);
  std::string BreakMany(SimNode& node, Random& chance);
  // Drivers.
  std::string KillDriver(SimNode& node, Random& chance);
  std::string HangDriver(SimNode& node, Random& chance);
  std::string RestartDriver(SimNode& node, Random& chance);
  std::string HandOverDriver(SimNode& node, Random& chance);
  std::string StrangerLies(SimNode& node, Random& chance);
  std::string StrangerHangs(SimNode& node, Random& chance);
  std::string StrangerFloods(SimNode& node, Random& chance);
  std::string WipeSlices(SimNode& node, Random& chance);
  // Agents, their disks and clocks.
  std::string KillAgent(SimNode& node, Random& chance);
  std::string KillAgentAtWrite(SimNode& node, Random& chance);
  std::string UpgradeAgent(SimNode& node, Random& chance);
  std::string FillDisk(SimNode& node, Random& chance);
  std::string FailSync(SimNode& node, Random& chance);
  std::string HangDisk(SimNode& node, Random& chance);
  std::string StepWallClock(SimNode& node, Random& chance);
  std::string Suspend(SimNode& node, Random& chance);
  // Links, to the drivers' sockets and to the API.
  std::string SpoilSockets(SimNode& node, Random& chance);
  std::string SpoilApi(SimNode& node, Random& chance);
  std::string CutApi(SimNode& node, Random& chance);
  std::string ApiOutage(SimNode& node, Random& chance);
  std::string LoseRequests(SimNode& node, Random& chance);
  std::string LoseAnswers(SimNode& node, Random& chance);
  std::string Storm(SimNode& node, Random& chance);
  std::string LoseWrites(SimNode& node, Random& chance);
  std::string SlowWatches(SimNode& node, Random& chance);
  std::string SendTwice(SimNode& node, Random& chance);
  std::string ExpireWatches(SimNode& node, Random& chance);
  std::string RefuseWatches(SimNode& node, Random& chance);
  std::string TearWatches(SimNode& node, Random& chance);
  std::string SendBookmarks(SimNode& node, Random& chance);
  // Other people.
  std::string ReplacePod(SimNode& node, Random& chance);
  std::string RemovePod(SimNode& node, Random& chance);
  std::string PassClaimOn(SimNode& node, Random& chance);
  std::string EndPod(SimNode& node, Random& chance);
  std::string TouchPod(SimNode& node, Random& chance);
  std::string OverwriteNodeHealth(SimNode& node, Random& chance);
  // Order (order_faults.cc).
  std::string PlaceGroup(SimNode& node, Random& chance);
  std::string JoinGroup(SimNode& node, Random& chance);
  std::string RecreatePod(SimNode& node, Random& chance);
  std::string HandOverAtWork(SimNode& node, Random& chance);
  std::string ExpireTwice(SimNode& node, Random& chance);
  std::string FailDiskTwice(SimNode& node, Random& chance);
  std::string TwoOutages(SimNode& node, Random& chance);
  std::string MoveDevices(SimNode& node, Random& chance);
  std::string RecreateUnseen(SimNode& node, Random& chance);
  std::string PlaceGroupUnseen(SimNode& node, Random& chance);
  std::string NewsDuringWrite(SimNode& node, Random& chance);
  std::string PodsDuringHang(SimNode& node, Random& chance);
  std::string EndWithFault(SimNode& node, Random& chance);
  std::string EndBeforeFault(SimNode& node, Random& chance);
  std::string NewsDuringAnswer(SimNode& node, Random& chance);
  std::string NameAnothersClaim(SimNode& node, Random& chance);
  // Each device that Pods of the node hold changes now, and so often again.
  std::string TurnHeld(SimNode& node, int times, Duration every);
  // The node's agent sees nothing for a while, and then how things are, but not in which order they
  // became so: its watches have ended, and their lists are late.
  std::string Blind(SimNode& node, Random& chance);
  std::string PlaceGroupAt(SimNode& node, const std::string& device, Random& chance);
  // The Pods of one of the world's places that are not yet asked to go: the one that lives, and the
  // ones that have ended and stay.
  std::vector<ObjectKey> PodsAt(std::uint64_t place, bool ended) const;
  // The one that lives; nullopt while there is none.
  std::optional<ObjectKey> PodAt(std::uint64_t place) const;

  // What is taken of a disk: EndAll gives it back first.
  static constexpr const char* kDiskRoom = "disk";
  static constexpr const char* kDiskSync = "sync";
  static constexpr const char* kDiskAnswer = "hang";

  // What is taken away until `d` has passed; asked for again meanwhile, until the later of the two.
  void Hold(SimNode& node, const std::string& what, Duration d, std::function<void()> end);
  void End(const std::string& key);
  // `act` is done so often, with so much time before each.
  void Again(const std::string& key, int times, Duration every, std::function<void()> act);
  std::string SpoilGate(SimNode& node, Random& chance, const std::string& what, Duration most,
                        const std::function<void(GateWeather&)>& spoil,
                        const std::function<void(GateWeather&)>& mend);
  std::string SpoilLink(SimNode& node, Random& chance, const std::string& what,
                        net::LinkWeather& weather);

  struct Held {
    Time until{};
    std::function<void()> end;
    Timer timer;
  };

  SimWorld& world_;
  std::map<std::string, Held> held_;
  std::map<std::string, Timer> again_;
};

}  // namespace galen::sim
