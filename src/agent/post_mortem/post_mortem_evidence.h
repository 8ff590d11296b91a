// What is known around the end of a Pod, gathered for the verdict on it: its own record, and what
// became of its neighbours on the node. Pure.
#pragma once

#include <functional>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "history/post_mortem/post_mortem.h"

namespace galen::agent {

// Containers of a node that are looked at for one verdict; past it the rest is left out, those that
// share a device with the Pod last.
inline constexpr std::size_t kNeighboursMax = 256;

// Lent until the call returns.
struct Surroundings {
  const NodeView& view;
  const ClaimIndex& claims;
  // How a device was at worst between the two times.
  std::function<HealthState(const DeviceId& device, WallTime from, WallTime until)> worst_of;
  // Records of other Pods, which may be gone from the view.
  std::vector<const history::PostMortem*> ended;
};

// Everything that `record` and its surroundings show, in the form that Judge takes.
CrashEvidence EvidenceOf(const history::PostMortem& record, const Surroundings& around);

}  // namespace galen::agent
