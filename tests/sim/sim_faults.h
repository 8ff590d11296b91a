// What goes wrong, drawn from the world's chance: hardware breaks and heals, drivers and agents are
// killed and come back, links lose, stall and cut, disks fill up, Pods come and go.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

namespace galen::sim {

class SimFaults {
 public:
  explicit SimFaults(SimWorld& world) : world_(world) {}

  // One thing happens; what, in words, for the story of a failing seed.
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
