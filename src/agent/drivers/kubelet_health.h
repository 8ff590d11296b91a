// Health from the kubelet's own field of a Pod (allocatedResourcesStatus, KEP-4680), as the source
// for drivers that the agent does not subscribe to: one that serves a single subscriber serves the
// kubelet. It has no deadline here, since the kubelet keeps those. If the kubelet dies and the
// driver then hangs, this cannot notice it: the health stays as it is, and only the Node's Ready
// condition, which is not watched, shows that the kubelet is gone. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/health/health_keeper.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"

namespace galen::agent {

// The devices of these drivers that the Pod's own field lists. The field names them by CDI ids,
// which only the driver and the kubelet know: a device is taken for the one whose name the id ends
// in, or for the only one that is left. Where that is ambiguous, the devices get the field's health
// if it is the same for all, else Unknown. Pure.
std::map<DeviceId, DeviceHealth> KubeletHealthOf(const kube::Pod& pod,
                                                 const std::vector<HeldDevice>& held,
                                                 const std::set<std::string>& drivers);

class KubeletHealth {
 public:
  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    const NodeView& view;
    const ClaimIndex& index;
    const HealthKeeper& keeper;
    HealthSink& sink;  // receives what is read
  };
  // `is_connected`: whether the driver is there. Nothing is reported for a driver that is not: the
  // agent knows at once that it is gone, the kubelet only a minute later.
  KubeletHealth(Edges edges, std::set<std::string> drivers,
                std::function<bool(const std::string& driver)> is_connected)
      : edges_(edges), drivers_(std::move(drivers)), is_connected_(std::move(is_connected)) {}

  // To be called when Pods, claims or drivers changed, once the first lists are known. Reports
  // changes, and has devices forgotten that no Pod's field lists any more. If several Pods share a
  // device, the worst counts: they are written one after another.
  void Look();

 private:
  using Healths = std::map<DeviceId, DeviceHealth>;
  Healths HealthsNow() const;
  void Report(const std::string& driver, const Healths& healths);
  void ForgetRest(const std::string& driver, const Healths& healths);

  Edges edges_;
  const std::set<std::string> drivers_;
  const std::function<bool(const std::string&)> is_connected_;
  Healths reported_;
};

}  // namespace galen::agent
