// What goes wrong, drawn from the world's chance: hardware breaks and heals, drivers and agents are
// killed and come back, links lose, stall and cut, disks fill up, Pods come and go, clocks jump.
// The same chance gives the same faults.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

namespace galen::sim {

class SimFaults {
 public:
  // The world outlives this.
  explicit SimFaults(SimWorld& world) : world_(world) {}

  // One thing happens at once; gives what, in words, for the story of a failing seed. Faults of one
  // kind end by the same draw that begins them, so they overlap as chance has it.
  std::string Happen();
  // Everything that was taken away comes back; broken hardware stays as it is.
  void EndAll();

 private:
  std::string BreakOrHeal();
  std::string KillOrStartDriver();
  std::string KillOrStartAgent();
  std::string ChangeApiWeather();
  std::string ChangeDriverWeather();
  std::string FillOrFreeDisk();
  std::string ReplacePod();
  std::string StepWallClock();

  SimNode& AnyNode() { return *world_.nodes()[world_.random().Below(world_.nodes().size())]; }
  net::LinkWeather AnyWeather();

  SimWorld& world_;
  int pods_made_ = 0;
};

}  // namespace galen::sim
