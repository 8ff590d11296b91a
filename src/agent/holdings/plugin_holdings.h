// Which devices of device plugins the Pods of this node hold, by the kubelet's last answer: only
// the kubelet knows, since it chose them. Kept until the Pod is gone, or the kubelet lists others
// for it: a kubelet that is starting, and knows no Pods or devices yet, removes nothing. Belongs to
// the agent's loop.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "agent/holdings/pod_resources.h"
#include "model/hardware_ids.h"

namespace galen::agent {

// The hardware identifiers in a device plugin's id of a device: NVIDIA's is the GPU's UUID, that of
// a MIG device, or with "::3" behind it a time slice of one; those of AMD and of SR-IOV are PCI
// addresses. A part of a device has what is known of the whole as its parent. Any other id may be a
// serial, unless it is as short as a number, and mostly matches nothing. Pure.
HardwareIds IdsOfPluginDevice(std::string_view device);

class PluginHoldings {
 public:
  explicit PluginHoldings(const NodeView& view) : view_(view) {}

  // UIDs of the Pods that the kubelet knew when it was asked, which its answer is about: those with
  // a start time, since the kubelet writes that after it has admitted a Pod and given it its
  // devices. For a Pod without one, the kubelet may still mean an earlier Pod of the name.
  using AskedPods = std::map<ObjectKey, std::string>;
  AskedPods PodsNow() const;
  // Takes the kubelet's answer. Returns the Pods whose devices changed.
  std::vector<ObjectKey> Apply(const PodResourcesAnswer& answer, const AskedPods& asked);
  // The view's Pod of that name is new, different or gone.
  void PodChanged(const ObjectKey& pod);

  // In order of device. Empty for a Pod that the kubelet has not listed yet.
  std::vector<HeldDevice> DevicesOf(const kube::Pod& pod) const;
  // Whether the kubelet has said which devices the Pod has.
  bool Knows(const kube::Pod& pod) const;
  // Pods that have not ended, in order of name.
  std::vector<ObjectKey> PodsOf(const DeviceId& device) const;
  // The devices of the resource that some Pod holds, with the hardware identifiers in their ids.
  std::map<DeviceId, HardwareIds> OfferedBy(const std::string& resource) const;

 private:
  struct Holder {
    std::string uid;
    std::vector<PodResources::PluginDevice> devices;
    bool operator==(const Holder&) const = default;
  };

  const NodeView& view_;
  std::map<ObjectKey, Holder> pods_;
};

}  // namespace galen::agent
