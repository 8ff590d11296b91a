// Beside a kubelet: asks it which devices its Pods have, keeps what device plugins gave them, and
// compares what it says of claims with what the agent knows from the API. A device of a plugin is
// shown on its Pod once a health source has reported it. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/health/health_cache.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/plugin_holdings.h"
#include "agent/holdings/pod_resources_reader.h"

namespace galen::agent {

// A device that the kubelet gave the Pod by a claim and that the agent's index does not know for
// that claim, as a sentence; "" when there is none. A device that only the agent knows is no
// difference: the kubelet lists only devices that drivers prepared and named to it. Nor is a share,
// which kubelets name since 1.35. Pure.
std::string ClaimDifference(const PodResources& said, const std::vector<HeldDevice>& held);

class PodResourcesJoin {
 public:
  // After a start what a Pod shows of other devices than its claims' stays until the kubelet has
  // said which devices of plugins it has: else it would lose these. A kubelet that has answered and
  // does not name the Pod is waited for so long, enough for one that starts at the same time to be
  // asked four times; one that never answers without an end. What its claims' devices become is
  // written meanwhile.
  static constexpr Duration kPatience = std::chrono::seconds(30);

  static constexpr std::size_t kDifferencesShown = 16;

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    net::Dialer& dialer;
    const NodeView& view;
    const ClaimIndex& claims;
    const HealthCache& cache;  // of what is shown
  };
  // `on_pods` names Pods whose devices changed, or are shown from now on. The arguments outlive
  // this.
  PodResourcesJoin(Edges edges, PodResourcesReader::Options options,
                   std::function<void(const std::vector<ObjectKey>&)> on_pods);

  // With the arguments of NodeListener::OnPod; before the claim index takes the same change.
  void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after);
  // A claim of some Pod was allocated, or allocated anew.
  void OnClaim() { reader_.Look(); }
  // After everybody else: devices that were reported for the first time are shown from now on.
  void OnChanges(const std::vector<HealthChange>& changes);

  // The devices of plugins that the Pod shows, for the claim index.
  std::vector<HeldDevice> ShownOf(const kube::Pod& pod) const;
  // All that the kubelet named, shown or not.
  std::vector<HeldDevice> AllOf(const kube::Pod& pod) const { return holdings_.DevicesOf(pod); }
  std::vector<ObjectKey> PodsOf(const DeviceId& id) const { return holdings_.PodsOf(id); }
  std::map<DeviceId, HardwareIds> OfferedBy(const std::string& resource) const {
    return holdings_.OfferedBy(resource);
  }
  // Whether the Pod asks for devices of plugins and the kubelet has not said which it has.
  bool Awaits(const kube::Pod& pod) const;
  // How much longer what the Pod shows of other devices is to stay; Duration::max(): for good.
  Duration PatienceWith(const kube::Pod& pod) const;
  // What is wrong, as a sentence; "" when nothing is.
  std::string trouble() const { return reader_.trouble(); }
  // Where kubelet and API server differ, a sentence a Pod, kDifferencesShown at most.
  std::vector<std::string> differences() const;

 private:
  void OnAnswer(const PodResourcesAnswer& answer);
  void Compare(const PodResourcesAnswer& answer);
  void ShowDifferences() const;
  bool SomePod(const std::function<bool(const kube::Pod&)>& is_it) const;

  const Edges edges_;
  const std::function<void(const std::vector<ObjectKey>&)> on_pods_;
  PluginHoldings holdings_;
  PluginHoldings::AskedPods asked_;
  // By Pod, what differs in the last answer; it counts once it was so in the one before: an
  // allocation may be on its way to one of the two.
  std::map<ObjectKey, std::string> suspected_, differences_;
  PodResourcesReader reader_;
};

}  // namespace galen::agent
