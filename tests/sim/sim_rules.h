// What must hold of a cluster, whatever goes wrong. Each rule gives its breaches as sentences.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

namespace galen::sim {

// Looked at after each step. Belongs to one run.
class SimRules {
 public:
  // The world outlives this.
  explicit SimRules(SimWorld& world) : world_(world) {}

  // Breaches of what must hold at any moment, faults or not; looked at after each step.
  // No Pod is told of a device it does not hold; no device is in two claims; no Pod says Healthy of
  // a device whose driver is gone or silent for longer than its deadline while its agent could
  // tell.
  std::vector<std::string> Check();

  // The same, and what must hold after faults have ended and time has passed: each Pod runs and
  // says exactly what the hardware is, in each of its places, and so do the nodes' objects.
  std::vector<std::string> CheckConverged();

 private:
  void CheckHolding(std::vector<std::string>& breaches);
  void CheckAllocation(std::vector<std::string>& breaches);
  void CheckSilence(std::vector<std::string>& breaches);
  void CheckTruth(const std::string& name, const kube::Pod& pod,
                  std::vector<std::string>& breaches);
  void CheckNodeHealth(SimNode& node, std::vector<std::string>& breaches);

  SimWorld& world_;
  // Since when each driver has been out of hearing of an agent that could have told.
  std::map<std::string, Time> unheard_since_;
};

}  // namespace galen::sim
