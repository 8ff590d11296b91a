// What the kubelet says of a Pod's devices (allocatedResourcesStatus, KEP-4680), as the source for
// drivers that are not to be asked: one that serves a single subscriber serves the kubelet. A word
// has no deadline here, since the kubelet keeps those. If the kubelet dies and the driver hangs
// then, nobody notices here: the word stays, and only the Node's Ready condition, which is not
// watched, tells that its teller is gone. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "agent/health/health_keeper.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/cluster_view.h"

namespace galen::agent {

// The devices of these drivers that the Pod's own field tells of. The field names them by CDI ids,
// which only the driver and the kubelet know: a device is taken for the one whose name the id ends
// in, or for the only one that is left. Where this does not tell devices apart they are as the
// field says if it says the same of all, else Unknown. Pure.
std::map<DeviceId, DeviceHealth> KubeletWordOf(const kube::Pod& pod,
                                               const std::vector<HeldDevice>& held,
                                               const std::set<std::string>& drivers);

class KubeletWord {
 public:
  struct Edges {
    Loop& loop;
    const ClusterView& view;
    const ClaimIndex& index;
    HealthKeeper& keeper;
  };
  // `is_connected`: whether the driver is there. Of one that is not nothing is told: that it is
  // gone is known here at once, to the kubelet a minute later.
  KubeletWord(Edges edges, std::set<std::string> drivers,
              std::function<bool(const std::string& driver)> is_connected)
      : edges_(edges), drivers_(std::move(drivers)), is_connected_(std::move(is_connected)) {}

  // To be called when Pods, claims or drivers are others than before, once the first lists are
  // known. Tells the keeper what is new, and has it forget devices of which no Pod tells any more.
  // Of a device that several Pods share the worst word counts: they are written one after another.
  void Look();

 private:
  using Words = std::map<DeviceId, DeviceHealth>;
  Words WordsNow() const;
  void Tell(const std::string& driver, const Words& words);
  void ForgetRest(const std::string& driver, const Words& words);

  Edges edges_;
  const std::set<std::string> drivers_;
  const std::function<bool(const std::string&)> is_connected_;
  Words told_;
};

}  // namespace galen::agent
